"""`‹ 2/3 ›` beside a question or an answer: which of several it is, and the way to the others."""

from __future__ import annotations

from textual import events

from chatkv.tui.messages import BranchWanted
from chatkv.tui.talk.branches import Side, position
from chatkv.tui.talk.exchange import Exchange
from chatkv.tui.widgets.hints import named
from chatkv.tui.widgets.line import Line

_KEYS: dict[Side, str] = {
    "asked": "⟨chat.wording_before⟩ ⟨chat.wording_after⟩",
    "answered": "⟨chat.answer_before⟩ ⟨chat.answer_after⟩",
}
_MEANING: dict[Side, str] = {
    "asked": "Other wordings of this question, each with what followed it.",
    "answered": "Other answers to this question, each with what followed it.",
}


class Switcher(Line):
    """Draws the place of what is shown among its alternatives. A click on its left half goes back, else on."""

    def __init__(self, exchange: Exchange, side: Side, *, keys: bool) -> None:
        super().__init__(classes="switcher")
        self._side, self._place = side, ""
        self._keys = named(self, _KEYS[side])
        self.tooltip = f"{_MEANING[side]} Click ‹ or ›, or mark the turn and press {self._keys}."
        self.show_place(exchange, keys=keys)

    def show_place(self, exchange: Exchange, *, keys: bool) -> None:
        """Draw the place of `exchange`; `keys`: with the keys that are about this turn now."""
        self._key = exchange.key
        self._place = position(exchange, self._side)
        self.display = bool(self._place)
        noun = "wording" if self._side == "asked" else "answer"
        self.show(f"{self._place} {noun}s{f' · {self._keys}' if keys else ''}" if self._place else "")

    def on_click(self, event: events.Click) -> None:
        """Go to the one before or after."""
        event.stop()
        offset = event.get_content_offset(self)
        if offset is not None:
            step = -1 if offset.x < len(self._place) / 2 else 1
            self.post_message(BranchWanted(self._side, step, self._key))
