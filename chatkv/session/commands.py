"""The protocol's commands to one conversation, as calls of its methods. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from chatkv.errors import UsageError
from chatkv.protocol import (
    Command,
    Compact,
    Continue,
    Edit,
    Event,
    Fork,
    Keep,
    Pin,
    Recall,
    Regenerate,
    Send,
    Summary,
    Switch,
    Unpin,
)
from chatkv.session.session import Session


def carry_out(
    session: Session, command: Command, cancelled: Callable[[], bool], received_at: float
) -> Iterable[Event]:
    """What `command` makes happen, to be iterated. Raises `UsageError` for what is no conversation's to do."""
    match command:
        case Send(text=text, max_new_tokens=limit, overlong=overlong):
            text = session.head_of(text) if overlong == "head" else text
            return session.send(text, cancelled, max_new_tokens=limit, received_at=received_at)
        case Regenerate(max_new_tokens=limit, message_id=message_id):
            return session.regenerate(
                cancelled, max_new_tokens=limit, received_at=received_at, message_id=message_id
            )
        case Continue(max_new_tokens=limit):
            return session.extend(cancelled, max_new_tokens=limit, received_at=received_at)
        case Edit(message_id=message_id, text=text):
            return session.edit(message_id, text, cancelled, max_new_tokens=None, received_at=received_at)
        case Fork(message_id=message_id):
            return session.fork(message_id)
        case Switch(message_id=message_id):
            return session.switch(message_id)
        case _:
            return _remember(session, command, cancelled)


def _remember(session: Session, command: Command, cancelled: Callable[[], bool]) -> Iterable[Event]:
    """The commands that concern memory."""
    match command:
        case Compact(instructions=instructions):
            return session.upkeep.compact(instructions, cancelled)
        case Summary(text=None, undo=False):
            return [session.memory.summarized()]
        case Summary(text=None):
            return session.memory.undo()
        case Summary(text=str(text)):
            return session.memory.rewrite(text)
        case Pin(turn=turn):
            return session.memory.pin(turn, pinned=True)
        case Unpin(turn=turn):
            return session.memory.pin(turn, pinned=False)
        case Recall(words=words):
            return [session.look_up(words)]
        case Keep(text=text, name=name):
            return session.keep(text, name)
        case _:
            raise UsageError(f"Cannot carry out {type(command).__name__} here.")
