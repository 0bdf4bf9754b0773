"""A widget that is lines of text in looks of its own: draws only lines that differ, and asks for each look once.

Knows nothing of what the lines say.
"""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

DrawnLine = list[tuple[str, str]]
"""Look and text of each part of a line."""


class Drawing(Widget):
    """Its looks are the component classes `LOOKS--name`; `lower upper` is two of them that meet within a cell."""

    LOOKS: ClassVar[str] = ""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._drawn: list[DrawnLine] = []
        self._styles: dict[str, Style] = {}

    def draw(self, lines: list[DrawnLine]) -> None:
        """Show these lines. What is behind the last one is blank."""
        for y in range(max(len(lines), len(self._drawn))):
            if lines[y : y + 1] != self._drawn[y : y + 1]:
                self.refresh(Region(0, y, self.size.width, 1))
        self._drawn = lines

    def notify_style_update(self) -> None:
        """Looks are others now."""
        self._styles.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One line of cells, `y` from the top."""
        line = self._drawn[y] if y < len(self._drawn) else []
        cells = [Segment(text, self._look(look)) for look, text in line]
        return Strip(cells).adjust_cell_length(self.size.width, self._look(""))

    def _look(self, name: str) -> Style:
        if name not in self._styles:
            self._styles[name] = self._found(name)
        return self._styles[name]

    def _found(self, name: str) -> Style:
        if not name:
            return self.rich_style
        lower, _, upper = name.partition(" ")
        style = self.get_component_rich_style(f"{self.LOOKS}--{lower}")
        if upper:
            style += Style(bgcolor=self.get_component_rich_style(f"{self.LOOKS}--{upper}").color)
        return style
