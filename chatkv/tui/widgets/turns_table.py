"""All turns in figures, the newest at the bottom, and their totals."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from chatkv.tui import units
from chatkv.tui.gauges import TurnRow

_HEAD = f"{'#':>3}{'reuse':>6}{'early':>6}{'pref.':>6}{'dec.':>6}{'TTFT':>5}{'t/s':>5}"
_FIXED_LINES = 3
_MEANING = """One line a turn, in tokens:
reuse   found in the KV cache
early   prefilled before you pressed Enter
pref.   prefilled between Enter and the first token
dec.    decoded: the answer
TTFT    seconds from Enter to the first token
t/s     tokens a second after the first"""


class TurnsTable(Vertical):
    """Draws finished turns and sums."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[TurnRow, ...] = ()
        self._lines = Static(id="turn-lines")
        self._scroll = VerticalScroll(self._lines, can_focus=False)
        self._totals = Static(id="turn-totals")
        self.tooltip = _MEANING

    def compose(self) -> ComposeResult:
        """Head, lines, totals."""
        yield Static(Content(_HEAD), id="turn-head")
        yield self._scroll
        yield self._totals

    def on_mount(self) -> None:
        """Keep the newest turn in sight."""
        self._scroll.anchor()

    def on_resize(self) -> None:
        """Head and totals stay in sight; the lines between them scroll."""
        self._scroll.styles.max_height = max(1, self.size.height - _FIXED_LINES)

    def show(self, rows: tuple[TurnRow, ...]) -> None:
        """Draw these turns."""
        if rows is self._rows:
            return
        self._rows = rows
        self.set_class(bool(rows), "-filled")
        self._lines.update(Content("\n".join(map(line, rows))))
        self._totals.update(Content(totals(rows) if rows else ""))


def line(row: TurnRow) -> str:
    """A turn in 37 cells."""
    counts = (row.reused, row.early, row.prefilled, row.decoded)
    cells = "".join(f"{units.NOTHING if count is None else units.compact(count):>6}" for count in counts)
    return f"{row.turn:>3}{cells}{units.seconds(row.ttft_s):>5}{units.rate(row.tpot_s):>5}"


def totals(rows: Sequence[TurnRow]) -> str:
    """Sums of the counts, means of the times (the rate weighted by tokens), in 37 cells."""
    waits = [row.ttft_s for row in rows if row.ttft_s is not None]
    paced = [(row.tpot_s, row.decoded - 1) for row in rows if row.tpot_s is not None and row.decoded > 1]
    n_paced = sum(count for _, count in paced)
    whole = TurnRow(
        0,
        sum(row.reused or 0 for row in rows),
        sum(row.early or 0 for row in rows),
        sum(row.prefilled for row in rows),
        sum(row.decoded for row in rows),
        sum(waits) / len(waits) if waits else None,
        sum(tpot_s * count for tpot_s, count in paced) / n_paced if n_paced else None,
    )
    return f"{'Σ':>3}{line(whole)[3:]}"
