"""A text area that shows control characters inert and keeps them as they are."""

from __future__ import annotations

from rich.text import Text
from textual.strip import Strip
from textual.widgets import TextArea

from chatkv.tui.inert import inert


class InertArea(TextArea):
    """For text that may come from anywhere: a paste, a model."""

    def render_line(self, y: int) -> Strip:
        """Nothing where there are no columns: a shrinking terminal passes there, and Textual cannot wrap to it."""
        if self.content_size.width < 1:
            return Strip.blank(self.size.width, self.rich_style)
        return super().render_line(y)

    def get_line(self, line_index: int) -> Text:
        """A line for the screen, control characters inert. The document keeps them."""
        return Text(inert(self.document.get_line(line_index)), end="", no_wrap=True)
