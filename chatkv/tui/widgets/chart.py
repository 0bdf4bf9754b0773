"""The growth of the KV cache: a column a turn, what was reused below, what was new on top. Eighths of a cell exact.

A ▾ under a column says that room was made before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from chatkv.tui import units
from chatkv.tui.gauges import TurnRow

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_AXIS_CELLS = 6
_MADE_ROOM = "▾"
_EMPTY = "Growth appears here, turn by turn."


class GrowthChart(Widget):
    """Draws KV tokens after each turn. The newest turns that fit are shown; a live one grows at the right."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"chart--kept", "chart--new", "chart--axis", "chart--mark"}

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[TurnRow, ...] = ()
        self._compactions: tuple[int, ...] = ()

    def show(
        self, rows: Sequence[TurnRow], current: TurnRow | None, compactions: tuple[int, ...] = ()
    ) -> None:
        """Draw these turns, and `current` behind them if it still runs.

        `compactions`: how many turns were there when room was made, each time.
        """
        shown = (*rows, current) if current is not None and current.live else tuple(rows)
        if shown != self._rows or compactions != self._compactions:
            self._rows, self._compactions = shown, compactions
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """One row of cells, `y` from the top."""
        width, height = self.size
        axis = self.get_component_rich_style("chart--axis")
        if not self._rows:
            return Strip([Segment(_EMPTY if y == height // 2 else "", axis)]).adjust_cell_length(width, axis)
        n_columns = max(0, width - _AXIS_CELLS)
        pitch = 2 if len(self._rows) * 2 <= n_columns else 1
        rows = self._rows[-(n_columns // pitch) :] if n_columns else ()
        if self._compactions:
            if y == height - 1:
                return self._marks(len(self._rows) - len(rows), len(rows), pitch)
            height -= 1
        top = max((row.kv_tokens for row in rows), default=0)
        label = units.compact(top) if y == 0 and top else "0" if y == height - 1 else ""
        cells = [Segment(f"{label:>{_AXIS_CELLS - 2}} ", axis), Segment("┤" if label else "│", axis)]
        floor = (height - 1 - y) * 8
        for row in rows:
            cells.append(self._cell(row, floor, height * 8, top))
            cells.extend([Segment(" ", axis)] * (pitch - 1))
        return Strip(cells).adjust_cell_length(width, axis)

    def _marks(self, first: int, n_columns: int, pitch: int) -> Strip:
        """The line under the columns of turns `first` and on, and under the one that comes next."""
        made = set(self._compactions)
        axis, style = (self.get_component_rich_style(f"chart--{name}") for name in ("axis", "mark"))
        text = "".join(
            (_MADE_ROOM if first + n in made else " ") + " " * (pitch - 1) for n in range(n_columns + 1)
        )
        line = Strip([Segment(" " * _AXIS_CELLS, axis), Segment(text, style)])
        return line.adjust_cell_length(self.size.width, axis)

    def _cell(self, row: TurnRow, floor: int, full: int, top: int) -> Segment:
        """The part of a column between `floor` and `floor` + 8 eighths."""
        kept = row.kv_tokens - row.prefilled - row.decoded - (row.early or 0)
        n_kept = round(max(0, min(kept, row.kv_tokens)) * full / max(1, top)) - floor
        n_all = max(1, round(row.kv_tokens * full / max(1, top))) - floor
        kept_style = self.get_component_rich_style("chart--kept")
        new_style = self.get_component_rich_style("chart--new")
        if n_all <= 0:
            return Segment(" ", kept_style)
        if n_kept <= 0:
            return Segment(_EIGHTHS[min(8, n_all)], new_style)
        if n_kept >= 8 or n_all <= n_kept:
            return Segment(_EIGHTHS[min(8, n_kept)], kept_style)
        # Both parts meet in this cell; a cell has two colours, so the new part is drawn to its full height.
        ground = Style(bgcolor=new_style.color)
        return Segment(_EIGHTHS[n_kept], kept_style + ground)
