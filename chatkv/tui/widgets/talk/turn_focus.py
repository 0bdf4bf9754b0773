"""What a turn does with keys, pastes and clicks. Knows nothing of what it shows."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.containers import Vertical

from chatkv.tui.messages import CopyWanted, TurnClicked
from chatkv.tui.widgets.talk.head import CODE_META
from chatkv.tui.widgets.talk.turn_keys import TURN_KEYS
from chatkv.tui.widgets.writing.composer import Composer


class TurnFocus(Vertical, can_focus=True):
    """While a turn is marked it has the focus and keys of its own; else it cannot have it."""

    BINDINGS: ClassVar[list[BindingType]] = TURN_KEYS
    FOCUS_ON_CLICK = False

    def __init__(self, key: int, *, classes: str) -> None:
        super().__init__(classes=classes)
        self._key = key
        self._is_marked = self._is_typing = False

    def allow_focus(self) -> bool:
        """Only the marked turn has keys."""
        return self._is_marked

    async def _on_key(self, event: events.Key) -> None:
        """What is no key of the turn is typed into the composer, in turn with all that follows."""
        if self._is_typing or (event.is_printable and not self._owns(event.key)):
            self._hand_on(event, events.Key(event.key, event.character))

    async def _on_paste(self, event: events.Paste) -> None:
        """A paste belongs in the composer."""
        self._hand_on(event, events.Paste(event.text))

    def _owns(self, key: str) -> bool:
        """Whether it is a key of a turn, also one that would do nothing for this turn."""
        active = self.screen.active_bindings.get(key)
        return active.node is self if active is not None else key in self._bindings.key_to_bindings

    def _hand_on(self, event: events.Event, copy: events.Event) -> None:
        event.stop()
        event.prevent_default()
        composer = self.screen.query_one(Composer)
        composer.post_message(copy)
        if not self._is_typing:
            self._is_typing = True
            self.call_later(self._leave, composer)

    def _leave(self, composer: Composer) -> None:
        """Give the focus to the composer once no key waits here any more: a later one would overtake it."""
        if self.message_queue_size:
            self.call_later(self._leave, composer)
            return
        self._is_typing = False
        self.screen.set_focus(composer)

    def on_click(self, event: events.Click) -> None:
        """Copy the code that was clicked, else mark the turn; the end of a selection is no click."""
        event.stop()
        if (code := event.style.meta.get(CODE_META)) is not None:
            self.post_message(CopyWanted("code", self._key, *code))
        elif not self.screen.selections:
            self.post_message(TurnClicked(self._key))
