"""Text or Markdown in which found words stand out. They are looked for in what is drawn, line by line."""

from __future__ import annotations

from rich.cells import cell_len
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Static

from chatkv.tui.prose.seeking import lines_with, spans

_FOUND = Style(bold=True, underline=True)
_HERE = Style(bold=True, reverse=True)


class Seekable(Widget):
    """A widget that can show where words are."""

    _needle = ""
    _line: int | None = None

    def seek(self, needle: str, line: int | None = None) -> None:
        """Let these (folded) words stand out, most of all those in `line`. None at all if empty."""
        if (needle, line) != (self._needle, self._line):
            self._needle, self._line = needle, line
            self.refresh()

    def lines_with(self, needle: str) -> list[int]:
        """The line in which each occurrence of the folded `needle` begins, as it is drawn now."""
        if not self.size.width:
            return []
        strips = super().render_lines(Region(0, 0, self.outer_size.width, self.outer_size.height))
        return lines_with([strip.text for strip in strips], needle)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of the widget, found words set off."""
        strips = super().render_lines(crop)
        if not self._needle:
            return strips
        return [
            _lit(strip, self._needle, _HERE if crop.y + n == self._line else _FOUND)
            for n, strip in enumerate(strips)
        ]


class Sought(Static, Seekable):
    """A text in which words can be found."""

    def __init__(self, content: VisualType = "", *, classes: str = "") -> None:
        super().__init__(content, classes=classes, markup=False)


def _lit(strip: Strip, needle: str, style: Style) -> Strip:
    text = strip.text
    found = spans(text, needle)
    if not found:
        return strip
    parts, done = [], 0
    for first, last in found:
        begin, end = cell_len(text[:first]), cell_len(text[:last])
        parts += [strip.crop(done, begin), strip.crop(begin, end).apply_style(style)]
        done = end
    return Strip.join([*parts, strip.crop(done, strip.cell_length)])
