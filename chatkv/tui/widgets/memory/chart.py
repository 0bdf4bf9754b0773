"""The growth of the KV cache: a column a turn, what was kept below, what was new on top. Eighths of a cell exact.

A ▾ under a column says that room was made before it.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events

from chatkv.tui import units
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.memory.growth import Column, columns, expects_more, full, spoken, stack
from chatkv.tui.widgets.memory.bar import joined
from chatkv.tui.widgets.memory.drawing import Drawing, DrawnLine

_AXIS_CELLS = 6
_MADE_ROOM = "▾"
_EMPTY = "Growth appears here, turn by turn."
_PITCHES = ((3, 8), (2, 1000), (1, 0))
"""Cells a column takes, and the most columns that are drawn so wide if there is room for as many."""
_MEANING = """Tokens in the KV cache after each turn.
Lower part: kept from the turn before. Shaded: read ahead of Enter. Upper part: new in this turn.
▾ room was made before it   … still running, or still to come"""


class GrowthChart(Drawing):
    """Draws KV tokens after each turn. The newest turns that fit are shown; a live one grows at the right."""

    LOOKS = "chart"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "chart--kept",
        "chart--early",
        "chart--new",
        "chart--axis",
        "chart--mark",
    }

    def __init__(self) -> None:
        super().__init__()
        self._gauges = Gauges()
        self._columns: tuple[Column, ...] = ()
        self._pitch = 2
        self.tooltip = _MEANING

    def show(self, gauges: Gauges) -> None:
        """Draw the turns of these gauges, and behind them one that still runs or is being written."""
        self._gauges = gauges
        room = max(0, self.size.width - _AXIS_CELLS)
        wanted = len(gauges.rows) + expects_more(gauges)
        pitch = next((p for p, most in _PITCHES if wanted <= min(most, room // p)), 1)
        shown = columns(gauges, room // pitch)
        if (shown, pitch) != (self._columns, self._pitch) or not self._drawn:
            self._columns, self._pitch = shown, pitch
            self.draw(self._grown() if self._columns else self._empty())

    def on_resize(self) -> None:
        """As many turns as fit."""
        self._drawn = []
        self.show(self._gauges)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Say which turn is under the mouse."""
        n = (event.x - _AXIS_CELLS) // self._pitch
        self.tooltip = spoken(self._columns[n]) if 0 <= n < len(self._columns) else _MEANING

    def _empty(self) -> list[DrawnLine]:
        middle = self.size.height // 2
        return [[("axis", _EMPTY if y == middle else "")] for y in range(self.size.height)]

    def _grown(self) -> list[DrawnLine]:
        """The columns, and below them which turns they are."""
        height = max(1, self.size.height - 1)
        top = full(max(column.tokens for column in self._columns))
        stacks = [stack(column, height, top, shaded=self.app.no_color) for column in self._columns]
        wide, lines = max(1, self._pitch - 1), []
        for y in range(height):
            label = units.compact(top) if y == 0 else "0" if y == height - 1 else ""
            line = [("axis", f"{label:>{_AXIS_CELLS - 2}} {'┤' if label else '│'}")]
            for cells in stacks:
                look, glyph = cells[height - 1 - y]
                line += [(look, glyph * wide), ("kept", " " * (self._pitch - wide))]
            lines.append(joined(line))
        return [*lines, self._turns()]

    def _turns(self) -> DrawnLine:
        """The first and the last turn's number, and a mark where room was made."""
        line = [" "] * max(len(self._columns) * self._pitch, self.size.width - _AXIS_CELLS)
        first, last = self._columns[0].name, self._columns[-1].name
        at = (len(self._columns) - 1) * self._pitch + self._columns[-1].made_room
        at = min(at, len(line) - len(last))
        if at > len(first):
            line[: len(first)] = first
        line[at : at + len(last)] = last
        for n, column in enumerate(self._columns):
            if column.made_room:
                line[n * self._pitch] = _MADE_ROOM
        return joined(
            [
                ("axis", " " * _AXIS_CELLS),
                *(("mark" if glyph == _MADE_ROOM else "axis", glyph) for glyph in line),
            ]
        )
