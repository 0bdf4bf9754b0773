"""The memory sidebar: what the KV cache holds, how it grew, what this turn and every turn cost, what happened."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Click

from chatkv.protocol import Kv
from chatkv.tui import units
from chatkv.tui.inert import one_line
from chatkv.tui.memory import kv_map
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.widgets.hints import named
from chatkv.tui.widgets.line import Line
from chatkv.tui.widgets.memory.chart import GrowthChart
from chatkv.tui.widgets.memory.event_log import EventLog
from chatkv.tui.widgets.memory.figure import Figures, Heading
from chatkv.tui.widgets.memory.idle_line import IdleLine
from chatkv.tui.widgets.memory.kv_map import KvMap
from chatkv.tui.widgets.memory.memory_bar import MemoryBar, over_mark
from chatkv.tui.widgets.memory.sidebar_words import (
    BYTES,
    FIGURES,
    MEANINGS,
    accounted,
    counted,
    described_bytes,
    described_model,
    described_tokens,
    described_turn,
)
from chatkv.tui.widgets.memory.turns_table import TurnsTable


class Sidebar(Vertical):
    """Draws `Gauges`."""

    def __init__(self) -> None:
        super().__init__()
        self._title = Line(id="session-title")
        self._model = Line(id="model-name")
        self._idle = IdleLine()
        self._cache = Heading("KV cache", MEANINGS["kv-tokens"], id="kv-tokens")
        self._bar = MemoryBar()
        self._marks = Line(id="kv-marks")
        self._bytes = Line(id="kv-bytes")
        self._map = KvMap()
        self._kv: Kv | None = None
        self._n_summary = 0
        self._chart = GrowthChart()
        self._turn = Heading("This turn", MEANINGS["turn-no"], id="turn-no")
        self._figures = Figures(FIGURES, id="figures")
        self._process = Heading(
            "Memory", MEANINGS["process-bytes"], id="process-bytes", classes="whole-memory"
        )
        self._sizes = Figures(BYTES, id="sizes", classes="whole-memory")
        self._turns = Heading("All turns", MEANINGS["n-turns"], id="n-turns")
        self._table = TurnsTable()
        self._events = Heading("Events", MEANINGS["events-key"], id="events-key", value="")
        self._log = EventLog()
        self._shown = Gauges()

    def compose(self) -> ComposeResult:
        """Title, cache, growth, this turn, all memory, all turns, events."""
        yield from (self._title, self._model, self._idle)
        yield from (self._cache, self._bar, self._marks, self._bytes, self._map, self._chart)
        yield from (self._turn, self._figures, self._process, self._sizes)
        yield from (self._turns, self._table, self._events, self._log)

    def on_mount(self) -> None:
        """Explain the drawings; say what an empty sidebar is."""
        for line in (self._title, self._model, self._marks, self._bytes):
            line.tooltip = named(self, MEANINGS[line.id or ""])
        self._bar.tooltip = MEANINGS["kv-bytes"]
        self._events.show(named(self, "⟨chat.events⟩ shows all"))
        self.show(Gauges())

    def on_resize(self) -> None:
        """The marks are as wide as the gauge."""
        self._kv = None
        self._show_cache(self._shown)

    @on(Click, "#events-key, #log")
    async def _on_events_clicked(self) -> None:
        """All events, where few are in sight."""
        await self.run_action("screen.events")

    def show(self, gauges: Gauges) -> None:
        """Draw these gauges."""
        self._shown = gauges
        self._title.show(one_line(gauges.title) or "New session")
        self._model.show(one_line(described_model(gauges)))
        self._idle.work(gauges.work, at_once=gauges.live)
        self._show_cache(gauges)
        self._chart.show(gauges)
        self._show_turn(gauges)
        self._table.show(gauges.rows, gauges.compactions, gauges.marks)
        self._turns.show(f"{len(gauges.rows):,}" if gauges.rows else "")
        self._log.show(gauges.happened)

    def _show_cache(self, gauges: Gauges) -> None:
        kv = gauges.kv
        over = over_mark(kv, gauges.tokens)
        self._cache.show(described_tokens(gauges, over), look=over or "value")
        self._bar.show(kv, gauges.tokens)
        self._map.show(gauges)
        if kv is None:
            self._bytes.show("nothing in memory yet")
        elif kv is not self._kv:
            self._show_bytes(kv)
        if kv is not self._kv:
            self._n_summary = sum(run.tokens for run in kv.segments if run.kind == "summary") if kv else 0
        self._kv = kv

    def _show_bytes(self, kv: Kv) -> None:
        self._bytes.show(described_bytes(kv))
        marks = kv_map.marks(kv, self._bar.size.width)
        self._marks.display = bool(marks)
        self._marks.show(marks)
        sizes = (kv.weights_bytes, kv.second_bytes, kv.scratch_bytes, kv.slack_bytes)
        known = {name: units.size(nbytes) for name, nbytes in zip(BYTES, sizes, strict=True) if nbytes}
        self._sizes.show(known)
        self._process.show(f"{units.size(kv.rss_bytes)} process" if kv.rss_bytes else "")
        self._bar.tooltip = self._bytes.tooltip = f"{MEANINGS['kv-bytes']}\n{accounted(kv)}".strip()

    def _show_turn(self, gauges: Gauges) -> None:
        name = "Next turn" if gauges.coming else "This turn"
        self._turn.show(described_turn(gauges), name=name)
        values = counted(gauges)
        if self._n_summary:
            values["summary"] = f"{self._n_summary:,}"
        self._figures.show(values)
