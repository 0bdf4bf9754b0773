"""One line of text that changes often: plain, of a size that the stylesheet fixes, drawn only when it differs."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Label


class Line(Label):
    """Draws a string as it is."""

    def __init__(self, text: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(Content(text), id=id, classes=classes)
        self._shown = text

    def show(self, text: str) -> None:
        """Draw `text`. Its size changes nothing around it, so that this stays cheap."""
        if text != self._shown:
            self._shown = text
            self.update(Content(text), layout=False)
