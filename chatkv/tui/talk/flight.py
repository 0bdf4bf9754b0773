"""The turn command that the worker has and has not finished. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

from chatkv.protocol import Continue, Edit, Regenerate, Send
from chatkv.tui.talk.exchange import Exchange

TurnCommand = Send | Edit | Regenerate | Continue
TURN_COMMANDS = ("", "send", "edit", "regenerate", "continue")
"""Their names in `error` events; without a name, an error is the running turn's."""


@dataclass(slots=True)
class Flight:
    """At most one is on its way at any time."""

    command: TurnCommand
    key: int
    before: tuple[Exchange, ...]
    """The turns without it, for one that leaves no trace."""
    accepted: bool = False

    @property
    def text(self) -> str:
        """What the person said with it; empty for one without words."""
        return self.command.text if isinstance(self.command, Send | Edit) else ""
