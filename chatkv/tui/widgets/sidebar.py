"""The memory sidebar: what the KV cache holds, how it grew, what this turn and every turn cost."""

from __future__ import annotations

from collections import deque

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from chatkv.protocol import Kv
from chatkv.tui import kv_map, units
from chatkv.tui.gauges import Gauges, TurnRow
from chatkv.tui.inert import one_line
from chatkv.tui.widgets.chart import GrowthChart
from chatkv.tui.widgets.figure import Figure
from chatkv.tui.widgets.kv_map import KvMap
from chatkv.tui.widgets.line import Line
from chatkv.tui.widgets.memory_bar import MemoryBar
from chatkv.tui.widgets.turns_table import TurnsTable

_LOG_LINES = 3
_CELLS = 37
_BAR_MEANING = """Memory of the KV cache (keys and values of every token, on all layers):
━ used by tokens   ╍ held for the next ones   ─ free within the limit"""
_MARKS_MEANING = """Where room is made, in tokens:
soft     above it, old turns are summarized when nothing else is to be done
hard     above it, before the next prompt is read
target   how small the cache is then"""
_CHART_MEANING = """Tokens in the KV cache after each turn.
Lower part: kept from the turn before. Upper part: new in this turn. ▾ room was made before it."""
_FIGURES = {
    "reused": ("reused", "Prompt tokens found in the KV cache: nothing to compute."),
    "early": ("early", "Prompt tokens prefilled before you pressed Enter."),
    "prefilled": ("prefilled", "Prompt tokens read after you pressed Enter."),
    "decoded": ("decoded", "Tokens of the answer so far."),
    "recalled": ("recalled", "Tokens of the prompt that came out of the archive, among those read."),
    "summary": ("summary", "Tokens of the summary that stands for older turns."),
    "ttft": ("TTFT", "Time to first token: seconds from Enter to the answer's start."),
    "rate": ("tok/s", "Tokens a second after the first one."),
}
_BYTES = {
    "weights": ("weights", "The model's own numbers."),
    "second": ("second", "KV being built beside the live one while room is made; part of what is held."),
    "scratch": ("scratch", "What one step of the model needs beside weights and KV."),
    "slack": ("slack", "Memory that the allocator keeps for itself."),
}


class Sidebar(Vertical):
    """Draws `Gauges` and the last notices."""

    def __init__(self) -> None:
        super().__init__()
        self._title = Line(id="session-title")
        self._model = Line(id="model-name")
        self._tokens = Line(id="kv-tokens")
        self._bytes = Line(id="kv-bytes")
        self._bar = MemoryBar()
        self._marks = Line(id="kv-marks")
        self._map = KvMap()
        self._kv: Kv | None = None
        self._chart = GrowthChart()
        self._turn_no = Line(id="turn-no")
        self._table = TurnsTable()
        self._log = Static(id="log", markup=False)
        self._lines: deque[str] = deque(maxlen=_LOG_LINES)
        self._figures = {name: Figure(*words, id=name) for name, words in _FIGURES.items()}
        self._process = Line(id="process-bytes")
        self._sizes = {name: Figure(*words, id=f"{name}-bytes") for name, words in _BYTES.items()}

    def compose(self) -> ComposeResult:
        """Title, cache, growth, this turn, all memory, all turns, notices."""
        yield self._title
        yield self._model
        with Horizontal(classes="heading"):
            yield Line("KV cache", classes="name")
            yield self._tokens
        yield self._bar
        yield self._marks
        yield self._bytes
        yield self._map
        yield self._chart
        with Horizontal(classes="heading"):
            yield Line("This turn", classes="name")
            yield self._turn_no
        with Vertical(id="figures"):
            yield from self._figures.values()
        with Horizontal(classes="heading whole-memory"):
            yield Line("Memory", classes="name")
            yield self._process
        with Vertical(id="sizes", classes="whole-memory"):
            yield from self._sizes.values()
        with Horizontal(classes="heading", id="all-turns"):
            yield Line("All turns", classes="name")
        yield self._table
        yield self._log

    def on_mount(self) -> None:
        """Explain the drawings; say what an empty sidebar is."""
        self._bar.tooltip = self._bytes.tooltip = _BAR_MEANING
        self._marks.tooltip = _MARKS_MEANING
        self._process.tooltip = "Memory of the whole model process, as the system counts it (RSS)."
        self._chart.tooltip = _CHART_MEANING
        self.show(Gauges())

    def show(self, gauges: Gauges) -> None:
        """Draw these gauges."""
        self._title.show(one_line(gauges.title) or "New session")
        self._model.show(one_line(described_model(gauges)))
        self._show_cache(gauges)
        self._chart.show(gauges.rows, gauges.current, gauges.compactions)
        self._show_turn(gauges.current)
        self._table.show(gauges.rows)

    def say(self, text: str) -> None:
        """Add a notice on top; the last few stay."""
        self._lines.appendleft(f"· {one_line(text)}")
        self._log.update(Content("\n".join(self._lines)))

    def _show_cache(self, gauges: Gauges) -> None:
        kv, ready = gauges.kv, gauges.ready
        limit = (kv.limit_tokens or kv.context_tokens) if kv else ready.context_tokens if ready else 0
        tokens = f"{kv.tokens if kv else 0:,}"
        self._tokens.show(f"{tokens} / {limit:,} tokens" if limit else f"{tokens} tokens")
        self._bar.show(kv)
        self._map.show(kv)
        if kv is None:
            self._bytes.show("nothing in memory yet")
        if kv is not None and kv != self._kv:
            self._show_bytes(kv)
        self._kv = kv

    def _show_bytes(self, kv: Kv) -> None:
        used, reserved, budget = map(units.mib, (kv.used_bytes, kv.reserved_bytes, kv.budget_bytes))
        self._bytes.show(f"{used} used · {reserved} held of {budget} MiB")
        marks = kv_map.marks(kv, _CELLS)
        self._marks.display = bool(marks)
        self._marks.show(marks)
        sizes = (kv.weights_bytes, kv.second_bytes, kv.scratch_bytes, kv.slack_bytes)
        for name, nbytes in zip(_BYTES, sizes, strict=True):
            self._sizes[name].show(units.size(nbytes) if nbytes else units.NOTHING)
        self._process.show(f"{units.size(kv.rss_bytes)} process" if kv.rss_bytes else "")
        self._bar.tooltip = self._bytes.tooltip = f"{_BAR_MEANING}\n{accounted(kv)}"

    def _show_turn(self, row: TurnRow | None) -> None:
        self._turn_no.show(f"{row.turn}{' running' if row.live else ''}" if row else "")
        shown = row or TurnRow(0)
        counts = {"reused": shown.reused, "early": shown.early}
        if row is not None:
            counts |= {"prefilled": row.prefilled, "decoded": row.decoded, "recalled": row.recalled}
        for name in ("reused", "early", "prefilled", "decoded", "recalled"):
            count = counts.get(name)
            self._figures[name].show(units.NOTHING if count is None else f"{count:,}")
        summary = sum(run.tokens for run in self._kv.segments if run.kind == "summary") if self._kv else 0
        self._figures["summary"].show(f"{summary:,}" if summary else units.NOTHING)
        wait = units.seconds(shown.ttft_s)
        self._figures["ttft"].show(wait if wait == units.NOTHING else f"{wait} s")
        self._figures["rate"].show(units.rate(shown.tpot_s))


def described_model(gauges: Gauges) -> str:
    """Name, precision and device of the model, as far as they are known."""
    if gauges.ready is None:
        return gauges.model or "no model yet"
    return f"{gauges.ready.model} · {gauges.ready.dtype} · {gauges.ready.device}"


def accounted(kv: Kv) -> str:
    """All bytes in words, for small terminals that show no more of them; empty where nothing is known."""
    sizes = (kv.weights_bytes, kv.second_bytes, kv.scratch_bytes, kv.slack_bytes)
    parts = [
        f"{label} {units.size(nbytes)}"
        for (label, _), nbytes in zip(_BYTES.values(), sizes, strict=True)
        if nbytes
    ]
    return " · ".join([*parts, *([f"process {units.size(kv.rss_bytes)}"] if kv.rss_bytes else [])])
