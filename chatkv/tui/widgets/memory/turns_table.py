"""All turns in figures, the newest at the bottom, a line where room was made, and totals. Draws what is in sight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from chatkv.tui import units
from chatkv.tui.memory.gauges import TurnRow
from chatkv.tui.widgets.line import Line

_NARROW = (4, 6, 6, 6, 5, 5, 5)
_BROAD = (5, 9, 8, 9, 9, 7, 6)
_HEADS = (
    ("#", "reuse", "early", "pref.", "dec.", "TTFT", "t/s"),
    ("#", "reused", "early", "prefill", "decoded", "TTFT", "t/s"),
)
_FIXED_LINES = 3
_MADE_ROOM = "▾ room made "
_MARKS = {"pinned": "◆", "summarized": "▿", "archived": "▫"}
_RECALLED = "▤"
_MEANING = """One line a turn, in tokens:
reuse   found in the KV cache
early   prefilled before you pressed Enter
pref.   prefilled between Enter and the first token
dec.    decoded: the answer
TTFT    seconds from Enter to the first token
t/s     tokens a second after the first
◆ pinned   ▿ summarized   ▫ archived   ▤ with recalled text
▾ here room was made: older turns were summarized or archived"""


class TurnLines(ScrollView, can_focus=False):
    """The turns and what came between them, a line each."""

    COMPONENT_CLASSES = {"turns--made", "turns--mark"}  # noqa: RUF012 (as in Textual)

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[TurnRow | None] = ()
        self._marks: Mapping[int, str] = {}

    def show(self, lines: Sequence[TurnRow | None], marks: Mapping[int, str]) -> None:
        """Draw these; None = room was made here. Who has scrolled up stays there."""
        follows = self.scroll_offset.y >= self.max_scroll_y
        self._lines, self._marks = lines, marks
        size = Size(self.size.width, len(lines))
        if size != self.virtual_size:
            self.virtual_size = size
        if follows:
            self.call_after_refresh(self.scroll_end, animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line in sight."""
        width, at = self.size.width, y + self.scroll_offset.y
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        row = self._lines[at]
        if row is None:
            made = self.get_component_rich_style("turns--made")
            return Strip([Segment(f"  {_MADE_ROOM:╌<{max(0, width - 3)}}", made)]).adjust_cell_length(width)
        text = line(row, width, mark=_MARKS.get(self._marks.get(row.turn, ""), ""))
        return Strip([Segment(text, self.rich_style)]).adjust_cell_length(width, self.rich_style)


class TurnsTable(Vertical):
    """Draws finished turns and sums."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[TurnRow, ...] = ()
        self._compactions: tuple[int, ...] = ()
        self._marks: Mapping[int, str] = {}
        self._head = Line(id="turn-head")
        self._lines = TurnLines()
        self._totals = Line(id="turn-totals")
        self.tooltip = _MEANING

    def compose(self) -> ComposeResult:
        """Head, lines, totals."""
        yield self._head
        yield self._lines
        yield self._totals

    def on_resize(self) -> None:
        """Head and totals stay in sight; the lines between them scroll."""
        self._lines.styles.max_height = max(1, self.size.height - _FIXED_LINES)
        self._draw()

    def show(
        self,
        rows: tuple[TurnRow, ...],
        compactions: tuple[int, ...] = (),
        marks: Mapping[int, str] | None = None,
    ) -> None:
        """Draw these turns, a line where room was made after so many of them, and how turns stand."""
        marks = self._marks if marks is None else marks
        if rows is self._rows and compactions == self._compactions and marks == self._marks:
            return
        self._rows, self._compactions, self._marks = rows, compactions, marks
        self._draw()

    def _draw(self) -> None:
        width = self._head.size.width
        if not width:
            return
        self.set_class(bool(self._rows), "-filled")
        self._head.show(head(width))
        self._lines.show(interleaved(self._rows, self._compactions), self._marks)
        self._totals.show(totals(self._rows, width) if self._rows else "")


def interleaved(rows: Sequence[TurnRow], compactions: Sequence[int]) -> list[TurnRow | None]:
    """The rows, and None where room was made after so many of them."""
    cuts = sorted({0, len(rows), *(min(n, len(rows)) for n in compactions if n > 0)})
    lines: list[TurnRow | None] = []
    for first, end in pairwise(cuts):
        lines += [*rows[first:end], *([None] if end in compactions else [])]
    return lines


def head(width: int) -> str:
    """The names of the columns."""
    return _set(_HEADS[width >= sum(_BROAD)], width)


def line(row: TurnRow, width: int = 37, *, mark: str = "") -> str:
    """A turn in 37 cells, or in more where there are."""
    columns = _BROAD if width >= sum(_BROAD) else _NARROW
    counts = (row.reused, row.early, row.prefilled, row.decoded)
    cells = [_fitted(count, size) for count, size in zip(counts, columns[1:5], strict=True)]
    mark = mark or (_RECALLED if row.recalled else "")
    number = f"{mark}{row.turn:>{columns[0] - 1}}" if mark else str(row.turn)
    return _set((number, *cells, units.seconds(row.ttft_s), units.rate(row.tpot_s)), width)


def totals(rows: Sequence[TurnRow], width: int = 37) -> str:
    """Sums of the counts, means of the times (the rate weighted by tokens)."""
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
    first = (_BROAD if width >= sum(_BROAD) else _NARROW)[0]
    return f"{'Σ':>{first}}{line(whole, width)[first:]}"


def _fitted(count: int | None, size: int) -> str:
    """A count that leaves a cell of the column free."""
    if count is None:
        return units.NOTHING
    text = units.compact(count)
    return text if len(text) < size or count >= 999_500 else f"{count / 1000:.0f}k"


def _set(cells: Sequence[str], width: int) -> str:
    columns = _BROAD if width >= sum(_BROAD) else _NARROW
    return "".join(f"{cell:>{size}}" for cell, size in zip(cells, columns, strict=True))
