"""A text area in which the cursor goes by what is seen: never into a letter with its accents, a flag, an emoji."""

from __future__ import annotations

from rich.text import Text
from textual.document._document import EditResult, Location
from textual.document._edit import Edit
from textual.strip import Strip

from chatkv.tui.widgets.writing.inert_area import InertArea
from chatkv.tui.writing.clusters import span


class ClusteredArea(InertArea):
    """Moves, selects and deletes by grapheme clusters. What is typed stays exact, also where it joins what follows."""

    _writing = False
    """Something is being written: the cursor stays behind it, whatever it joins."""

    def clamp_visitable(self, location: Location) -> Location:
        """Where the cursor may be: before the cluster that `location` is inside of."""
        row, column = super().clamp_visitable(location)
        return (row, column) if self._writing else (row, self._span(row, column)[0])

    def get_cursor_left_location(self) -> Location:
        """Before the cluster that the cursor is behind, or in."""
        row, column = super().get_cursor_left_location()
        return row, self._span(row, column)[0]

    def get_cursor_right_location(self) -> Location:
        """Behind the cluster that the cursor is before, or in."""
        return self._behind(super().get_cursor_right_location())

    def get_cursor_word_right_location(self) -> Location:
        """At the next word, never within the first letter of this one."""
        return self._behind(super().get_cursor_word_right_location())

    def delete(self, start: Location, end: Location, *, maintain_selection_offset: bool = True) -> EditResult:
        """Delete what is between, and of no cluster but at the cursor only a part."""
        start, end = sorted((start, end))
        start = start if start in self.selection else (start[0], self._span(*start)[0])
        end = end if end in self.selection else self._behind(end)
        return super().delete(start, end, maintain_selection_offset=maintain_selection_offset)

    def edit(self, edit: Edit) -> EditResult:
        """Change the text; what is written is not stepped over."""
        self._writing = bool(edit.text)
        try:
            return super().edit(edit)
        finally:
            self._writing = False

    def get_line(self, line_index: int) -> Text:
        """A line for the screen, with the cursor as wide as what it is on."""
        line = super().get_line(line_index)
        row, column = self.cursor_location
        style = self._theme.cursor_style if self._theme else None
        if style is not None and row == line_index and self._draw_cursor:
            line.stylize(style, column, self._behind((row, column + 1))[1])
        return line

    def render_line(self, y: int) -> Strip:
        """A line of the screen, no cluster in two pieces."""
        return super().render_line(y).simplify()

    def seen(self, row: int) -> str:
        """A line as clusters are looked for in it, of the same length."""
        return self.document.get_line(row)

    def _span(self, row: int, column: int) -> tuple[int, int]:
        return span(self.seen(row), column) if row < self.document.line_count else (column, column)

    def _behind(self, location: Location) -> Location:
        row, column = location
        return row, self._span(row, column)[1]
