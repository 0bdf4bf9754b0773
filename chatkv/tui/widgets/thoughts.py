"""What the model thought before it answered: folded, dim, plain text."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Collapsible, Static

from chatkv.tui import units
from chatkv.tui.inert import inert


class Thoughts(Collapsible):
    """Shows text that may still grow; the title says how much it is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fresh = ""
        self._body = Static(Content(inert(text)), classes="thought")
        super().__init__(self._body, title=_title(text))
        self.display = bool(text)

    def add(self, text: str) -> None:
        """More text has come; `flush` draws it."""
        self._fresh += text

    def flush(self) -> None:
        """Draw what came since the last time."""
        if self._fresh:
            self.finish(self._text + self._fresh)

    def finish(self, text: str) -> None:
        """The thought is `text`."""
        self._fresh = ""
        if text == self._text:
            return
        self._text = text
        self.display = bool(text)
        self.title = _title(text)
        self._body.update(Content(inert(text)))


def _title(text: str) -> str:
    return f"Thoughts · {units.plural(len(text.split()), 'word')}"
