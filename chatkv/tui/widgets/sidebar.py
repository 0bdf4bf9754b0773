"""The memory sidebar: what the KV cache holds, how it grew, what this turn and every turn cost."""

from __future__ import annotations

from collections import deque

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from chatkv.tui import units
from chatkv.tui.gauges import Gauges, TurnRow
from chatkv.tui.inert import one_line
from chatkv.tui.widgets.chart import GrowthChart
from chatkv.tui.widgets.figure import Figure
from chatkv.tui.widgets.line import Line
from chatkv.tui.widgets.memory_bar import MemoryBar
from chatkv.tui.widgets.turns_table import TurnsTable

_LOG_LINES = 3
_BAR_MEANING = """Memory of the KV cache (keys and values of every token, on all layers):
━ used by tokens   ╍ held for the next ones   ─ free within the budget"""
_CHART_MEANING = """Tokens in the KV cache after each turn.
Lower part: kept from the turn before. Upper part: new in this turn."""


class Sidebar(Vertical):
    """Draws `Gauges` and the last notices."""

    def __init__(self) -> None:
        super().__init__()
        self._title = Line(id="session-title")
        self._model = Line(id="model-name")
        self._tokens = Line(id="kv-tokens")
        self._bytes = Line(id="kv-bytes")
        self._bar = MemoryBar()
        self._chart = GrowthChart()
        self._turn_no = Line(id="turn-no")
        self._table = TurnsTable()
        self._log = Static(id="log", markup=False)
        self._lines: deque[str] = deque(maxlen=_LOG_LINES)
        self._figures = {
            "reused": Figure(
                "reused", "Prompt tokens found in the KV cache: nothing to compute.", id="reused"
            ),
            "early": Figure("early", "Prompt tokens prefilled before you pressed Enter.", id="early"),
            "prefilled": Figure("prefilled", "Prompt tokens read after you pressed Enter.", id="prefilled"),
            "decoded": Figure("decoded", "Tokens of the answer so far.", id="decoded"),
            "ttft": Figure(
                "TTFT", "Time to first token: seconds from Enter to the answer's start.", id="ttft"
            ),
            "rate": Figure("tok/s", "Tokens a second after the first one.", id="rate"),
        }

    def compose(self) -> ComposeResult:
        """Title, cache, growth, this turn, all turns, notices."""
        yield self._title
        yield self._model
        with Horizontal(classes="heading"):
            yield Line("KV cache", classes="name")
            yield self._tokens
        yield self._bar
        yield self._bytes
        yield self._chart
        with Horizontal(classes="heading"):
            yield Line("This turn", classes="name")
            yield self._turn_no
        with Vertical(id="figures"):
            yield from self._figures.values()
        with Horizontal(classes="heading", id="all-turns"):
            yield Line("All turns", classes="name")
        yield self._table
        yield self._log

    def on_mount(self) -> None:
        """Explain the drawings; say what an empty sidebar is."""
        self._bar.tooltip = self._bytes.tooltip = _BAR_MEANING
        self._chart.tooltip = _CHART_MEANING
        self.show(Gauges())

    def show(self, gauges: Gauges) -> None:
        """Draw these gauges."""
        self._title.show(one_line(gauges.title) or "New session")
        self._model.show(one_line(described_model(gauges)))
        self._show_cache(gauges)
        self._chart.show(gauges.rows, gauges.current)
        self._show_turn(gauges.current)
        self._table.show(gauges.rows)

    def say(self, text: str) -> None:
        """Add a notice; the last few stay."""
        self._lines.append(f"· {one_line(text)}")
        self._log.update(Content("\n".join(self._lines)))

    def _show_cache(self, gauges: Gauges) -> None:
        kv, ready = gauges.kv, gauges.ready
        limit = kv.context_tokens if kv and kv.context_tokens else ready.context_tokens if ready else 0
        tokens = f"{kv.tokens if kv else 0:,}"
        self._tokens.show(f"{tokens} / {limit:,} tokens" if limit else f"{tokens} tokens")
        self._bar.show(kv)
        if kv is None:
            self._bytes.show("nothing in memory yet")
            return
        used, reserved, budget = map(units.mib, (kv.used_bytes, kv.reserved_bytes, kv.budget_bytes))
        self._bytes.show(f"{used} used · {reserved} held of {budget} MiB")

    def _show_turn(self, row: TurnRow | None) -> None:
        self._turn_no.show(f"{row.turn}{' running' if row.live else ''}" if row else "")
        shown = row or TurnRow(0)
        counts = {"reused": shown.reused, "early": shown.early}
        if row is not None:
            counts |= {"prefilled": row.prefilled, "decoded": row.decoded}
        for name in ("reused", "early", "prefilled", "decoded"):
            count = counts.get(name)
            self._figures[name].show(units.NOTHING if count is None else f"{count:,}")
        wait = units.seconds(shown.ttft_s)
        self._figures["ttft"].show(wait if wait == units.NOTHING else f"{wait} s")
        self._figures["rate"].show(units.rate(shown.tpot_s))


def described_model(gauges: Gauges) -> str:
    """Name, precision and device of the model, as far as they are known."""
    if gauges.ready is None:
        return gauges.model or "no model yet"
    return f"{gauges.ready.model} · {gauges.ready.dtype} · {gauges.ready.device}"
