"""How typed text is read: a message, or one of the commands that begin with a slash.

Plain functions: knows neither the screen nor the worker.
"""

from __future__ import annotations

import re

from chatkv.errors import UsageError
from chatkv.tui.writing.wishes import COMMANDS, POLICIES, Act, SlashCommand, Wish

__all__ = [
    "COMMANDS",
    "POLICIES",
    "Act",
    "SlashCommand",
    "Wish",
    "as_typed",
    "matching",
    "message_of",
    "read",
]

_ALONE = re.compile(r"/[A-Za-z]+\s*")
_BY_NAME = {command.name: command for command in COMMANDS}


def read(text: str, last_turn: int) -> Wish | str:
    """What `text` asks for, or the message that it is. Raises `UsageError` for a command that cannot be meant so.

    A text is a command if its first word is one of the table's, or if it is nothing but a slash and letters. With
    another slash in front, such a text is a message.
    """
    message = message_of(text)
    if message is not None:
        return message
    name, _, arguments = _parted(text)
    command = _BY_NAME.get(name)
    if command is None:
        raise UsageError(
            f"There is no command /{name}.", f"⟨app.help⟩ lists all; //{name} sends it as a message."
        )
    return command.read(arguments.strip(), last_turn)


def message_of(text: str) -> str | None:
    """The message that `text` is, or would be if it were sent now; None where it is a command."""
    if text.startswith("//"):
        return text[1:] if _is_command(f"/{text.lstrip('/')}") else text
    return None if _is_command(text) else text


def as_typed(message: str) -> str:
    """What one types to send exactly this `message`."""
    escaped = message.startswith("/") and _is_command(f"/{message.lstrip('/')}")
    return f"/{message}" if escaped else message


def matching(text: str) -> tuple[SlashCommand, ...]:
    """Commands that `text`, while it is typed, may become; the one it is, once its arguments have begun."""
    if not text.startswith("/") or "\n" in text:
        return ()
    name, space, _ = _parted(text)
    if space:
        return (_BY_NAME[name],) if name in _BY_NAME else ()
    return tuple(command for command in COMMANDS if command.name.startswith(name))


def _parted(text: str) -> tuple[str, str, str]:
    """Name, the white space behind it, and the rest."""
    found = re.match(r"/(\S*)(\s?)", text)
    assert found is not None
    return found[1].lower(), found[2], text[found.end() :]


def _is_command(text: str) -> bool:
    return text.startswith("/") and (_parted(text)[0] in _BY_NAME or bool(_ALONE.fullmatch(text)))
