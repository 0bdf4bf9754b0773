"""The commands that one types with a slash: one table, and how typed text is read with it.

Plain data and functions: knows neither the screen nor the worker. Help, palette, completion and parsing are all
made from the table, so that none of them can know a command that the others do not.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chatkv.errors import UsageError
from chatkv.protocol import Command, Compact, Keep, Pin, Recall, Set, Unpin

POLICIES = ("summary", "window", "sinks", "attended")
_MAX_FILE_BYTES = 64 << 20
_ALONE = re.compile(r"/[A-Za-z]+\s*")


@dataclass(frozen=True, slots=True)
class Act:
    """Something the app does itself."""

    name: Literal["help", "summary", "new", "new with the summary", "model"]
    about: str = ""
    """Which model."""


Wish = Command | Act


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One command. `read` makes a wish of its arguments and the number of the last turn, or raises `UsageError`."""

    name: str
    arguments: str
    meaning: str
    read: Callable[[str, int], Wish]

    @property
    def usage(self) -> str:
        """As one writes it: `/compact [instructions]`."""
        return f"/{self.name} {self.arguments}".rstrip()


def read(text: str, last_turn: int) -> Wish | str:
    """What `text` asks for, or the message that it is. Raises `UsageError` for a command that cannot be meant so.

    A text is a command if its first word is one of the table's, or if it is nothing but a slash and letters. With
    another slash in front, such a text is a message.
    """
    if text.startswith("//"):
        return text[1:] if _is_command(f"/{text.lstrip('/')}") else text
    if not _is_command(text):
        return text
    name, _, arguments = _parted(text)
    command = _BY_NAME.get(name)
    if command is None:
        raise UsageError(f"There is no command /{name}.", f"F1 lists all; //{name} sends it as a message.")
    return command.read(arguments.strip(), last_turn)


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


def completed(text: str) -> str | None:
    """`text` with its command written out; None where there is nothing to write out."""
    found = matching(text)
    if not found or _parted(text)[1]:
        return None
    return f"/{found[0].name}" + (" " if found[0].arguments else "")


def _parted(text: str) -> tuple[str, str, str]:
    """Name, the white space behind it, and the rest."""
    found = re.match(r"/(\S*)(\s?)", text)
    assert found is not None
    return found[1].lower(), found[2], text[found.end() :]


def _is_command(text: str) -> bool:
    return text.startswith("/") and (_parted(text)[0] in _BY_NAME or bool(_ALONE.fullmatch(text)))


def _plain(wish: Wish, name: str) -> Callable[[str, int], Wish]:
    def read(arguments: str, last_turn: int) -> Wish:
        if arguments:
            raise UsageError(f"/{name} takes nothing behind it.")
        return wish

    return read


def _turn(kind: type[Pin] | type[Unpin]) -> Callable[[str, int], Wish]:
    def read(arguments: str, last_turn: int) -> Wish:
        name = kind.__name__.lower()
        if arguments and not (arguments.isascii() and arguments.isdecimal() and int(arguments) > 0):
            raise UsageError(f"/{name} wants the number of a turn, not {arguments!r}.", f"Such as /{name} 3.")
        if not arguments and last_turn < 1:
            raise UsageError(f"There is no turn to {name} yet.")
        return kind(int(arguments) if arguments else last_turn)

    return read


def _recall(arguments: str, last_turn: int) -> Wish:
    if not arguments:
        raise UsageError("/recall wants words to look for.", "Such as /recall the name of the harbour.")
    return Recall(arguments)


def _budget(arguments: str, last_turn: int) -> Wish:
    if not arguments:
        raise UsageError("/budget wants a size.", "Such as /budget 512MiB, /budget 25% or /budget auto.")
    return Set("memory.budget", arguments)


def _policy(arguments: str, last_turn: int) -> Wish:
    if arguments.lower() not in POLICIES:
        raise UsageError("/policy wants a name.", f"One of {', '.join(POLICIES)}.")
    return Set("memory.policy", arguments.lower())


def _new(arguments: str, last_turn: int) -> Wish:
    if arguments not in ("", "--carry"):
        raise UsageError(f"/new does not know {arguments!r}.", "/new --carry takes the summary along.")
    return Act("new with the summary" if arguments else "new")


def _keep(arguments: str, last_turn: int) -> Wish:
    if not arguments:
        raise UsageError("/keep wants the path of a text file.", "Such as /keep notes.txt.")
    file = Path(os.path.expanduser(arguments))
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise UsageError(f"{file} is larger than {_MAX_FILE_BYTES >> 20} MiB.", "Keep a part of it.")
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text.", "Convert it first.") from error
    if not text.strip():
        raise UsageError(f"{file} is empty.")
    return Keep(text, file.name)


COMMANDS = (
    SlashCommand(
        "compact",
        "[instructions]",
        "Summarize and archive old turns now; instructions say what matters",
        lambda arguments, last_turn: Compact(arguments),
    ),
    SlashCommand("summary", "", "Read, edit or undo the summary in force", _plain(Act("summary"), "summary")),
    SlashCommand("pin", "[turn]", "Keep a turn word for word in the context (the last one)", _turn(Pin)),
    SlashCommand("unpin", "[turn]", "Let a pinned turn go with the others again", _turn(Unpin)),
    SlashCommand("recall", "words", "Search the archive; what is found goes with your next message", _recall),
    SlashCommand("keep", "path", "Keep a text file as a document that passages are recalled from", _keep),
    SlashCommand("budget", "size", "Memory for the KV cache: 512MiB, 25% or auto", _budget),
    SlashCommand("policy", "name", f"How room is made: {', '.join(POLICIES)}", _policy),
    SlashCommand(
        "model",
        "[spec]",
        "Go on with another model: from a list, or a hub id, a folder or a *.gguf file",
        lambda arguments, last_turn: Act("model", arguments),
    ),
    SlashCommand("new", "[--carry]", "Start a new session; --carry takes the summary along", _new),
    SlashCommand("help", "", "List all keys and commands", _plain(Act("help"), "help")),
)
"""All commands, in the order in which they are listed."""

_BY_NAME = {command.name: command for command in COMMANDS}
