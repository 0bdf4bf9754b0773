"""What the model thought before it answered: folded or not, dim, plain text."""

from __future__ import annotations

import time

from textual.content import Content
from textual.widgets import Collapsible

from chatkv.tui import units
from chatkv.tui.inert import inert
from chatkv.tui.widgets.talk.sought import Sought

_COST_SHARE = 4
"""A long thought that grows unfolded is drawn less often: at most this fraction of the time goes into it."""


class Thoughts(Collapsible):
    """Shows text that may still grow; the title says how much it is. Folded text is drawn when it is unfolded."""

    def __init__(self, text: str, *, unfolded: bool = False, thinking: bool = False) -> None:
        self._text = text
        self._fresh = ""
        self._rest_until = 0.0
        self._is_drawn = False
        self._thinking = thinking
        self.body = Sought(classes="thought")
        super().__init__(self.body, title=_title(text, thinking=thinking), collapsed=not unfolded)
        self._title.can_focus = False  # the keys of its turn, and of the screen, unfold it
        self.display = bool(text)
        self._draw()

    def add(self, text: str) -> None:
        """More text has come; `flush` draws it."""
        self._fresh += text

    def flush(self) -> None:
        """Draw what came since the last time, unless drawing takes too much of the time."""
        began = time.perf_counter()
        if self._fresh and began >= self._rest_until:
            self._take(self._text + self._fresh, thinking=True)
            now = time.perf_counter()
            self._rest_until = now + (now - began) * _COST_SHARE

    def finish(self, text: str) -> None:
        """The thought is `text`, and over."""
        self._take(text, thinking=False)

    def _watch_collapsed(self, collapsed: bool) -> None:
        super()._watch_collapsed(collapsed)
        self._draw()

    def _take(self, text: str, *, thinking: bool) -> None:
        self._fresh = ""
        if (text, thinking) == (self._text, self._thinking):
            return
        self._is_drawn = self._is_drawn and text == self._text
        self._text, self._thinking = text, thinking
        self.display = bool(text)
        self.title = _title(text, thinking=thinking)
        self._draw()

    def _draw(self) -> None:
        if not self.collapsed and not self._is_drawn:
            self._is_drawn = True
            self.body.update(Content(inert(self._text)))


def _title(text: str, *, thinking: bool) -> str:
    amount = units.plural(len(text.split()), "word")
    return f"● thinking · {amount} so far" if thinking else f"Thoughts · {amount}"
