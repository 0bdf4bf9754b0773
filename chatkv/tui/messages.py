"""What the screen hears: typed messages from behind the screen and from its own widgets."""

from __future__ import annotations

from typing import Literal

from textual.message import Message

from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.talk.branches import Side
from chatkv.tui.talk.exchange import Update


class Updated(Message):
    """The conversation changed."""

    def __init__(self, update: Update) -> None:
        super().__init__()
        self.update = update


class GaugesChanged(Message):
    """The gauges moved. Only the newest matters."""

    def __init__(self, gauges: Gauges) -> None:
        super().__init__()
        self.gauges = gauges

    def can_replace(self, message: Message) -> bool:
        """Newer gauges make older ones in the queue pointless."""
        return isinstance(message, GaugesChanged)


class Submitted(Message):
    """The person pressed Enter on this text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class MoreWanted(Message):
    """An end of what is mounted of the transcript came into sight, and there is more."""

    def __init__(self, *, older: bool) -> None:
        super().__init__()
        self.older = older


class BranchWanted(Message):
    """The alternative so many `steps` after (before, if negative) that of turn `key` was clicked."""

    def __init__(self, side: Side, steps: int, key: int) -> None:
        super().__init__()
        self.side: Side = side
        self.steps, self.key = steps, key


class TurnClicked(Message):
    """Turn `key` was clicked."""

    def __init__(self, key: int) -> None:
        super().__init__()
        self.key = key


Copied = Literal["question", "answer", "code"]
"""What of a turn is copied."""


class CopyWanted(Message):
    """This of turn `key` was clicked to be copied; code: the piece with this number (from 0) that begins so."""

    def __init__(self, what: Copied, key: int, number: int = 0, begins: str = "") -> None:
        super().__init__()
        self.what: Copied = what
        self.key, self.number, self.begins = key, number, begins


class Refused(Message):
    """What is written cannot be sent or taken as it is, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class PathBegun(Message):
    """A path that begins so is being typed."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
