"""The commands that one types with a slash: one table, and what each makes of the words behind it.

Plain data and functions. Help, palette, completion and reading are all made from the table, so that none of them can
know a command that the others do not.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chatkv.errors import UsageError
from chatkv.protocol import Command, Compact, Keep, Pin, Recall, Set, Unpin

POLICIES = ("summary", "window", "sinks", "attended")
_MAX_FILE_BYTES = 64 << 20


ActName = Literal[
    "help",
    "summary",
    "new",
    "new with the summary",
    "model",
    "edit",
    "retry",
    "continue",
    "stop",
    "copy",
    "find",
    "rename",
    "export",
    "sessions",
    "settings",
    "theme",
    "quit",
]


@dataclass(frozen=True, slots=True)
class Act:
    """Something the app does itself."""

    name: ActName
    about: str = ""
    """Which model, which words, which file: what is said behind the command."""


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


def _rename(arguments: str, last_turn: int) -> Wish:
    if not arguments:
        raise UsageError("/rename wants a title.", "Such as /rename Plans for the garden.")
    return Act("rename", arguments)


def _set(arguments: str, last_turn: int) -> Wish:
    key, _, value = arguments.partition(" ")
    if not value.strip():
        raise UsageError("/set wants a setting and a value.", "Such as /set sampling.temperature 0.7.")
    return Set(key, value.strip())


def _named(name: ActName) -> Callable[[str, int], Wish]:
    return lambda arguments, last_turn: Act(name, arguments)


def _keep(arguments: str, last_turn: int) -> Wish:
    if not arguments:
        raise UsageError("/keep wants the path of a text file.", "Such as /keep notes.txt.")
    file = Path(os.path.expanduser(arguments))
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise UsageError(f"{file} is larger than {_MAX_FILE_BYTES >> 20} MiB.", "Keep a part of it.")
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text.", "Convert it first.") from error
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        raise UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
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
        _named("model"),
    ),
    SlashCommand("set", "setting value", "Change a setting until chatkv ends", _set),
    SlashCommand("settings", "", "Read and change every setting", _plain(Act("settings"), "settings")),
    SlashCommand("theme", "[name]", "Change the colours: from a list, or by name", _named("theme")),
    SlashCommand("edit", "", "Edit your last message and send it anew", _plain(Act("edit"), "edit")),
    SlashCommand("retry", "", "Answer the last message again", _plain(Act("retry"), "retry")),
    SlashCommand(
        "continue", "", "Continue an answer that was cut or stopped", _plain(Act("continue"), "continue")
    ),
    SlashCommand("stop", "", "Stop the answer; take back what is queued", _plain(Act("stop"), "stop")),
    SlashCommand("copy", "", "Copy the last answer", _plain(Act("copy"), "copy")),
    SlashCommand("find", "[words]", "Find words in this conversation", _named("find")),
    SlashCommand("sessions", "", "Search and list all sessions", _plain(Act("sessions"), "sessions")),
    SlashCommand("rename", "title", "Give this session another title", _rename),
    SlashCommand("export", "[path]", "Write this session to a file: *.md or *.json", _named("export")),
    SlashCommand("new", "[--carry]", "Start a new session; --carry takes the summary along", _new),
    SlashCommand("quit", "", "Quit; the answer is saved", _plain(Act("quit"), "quit")),
    SlashCommand("help", "", "List all keys and commands", _plain(Act("help"), "help")),
)
"""All commands, in the order in which they are listed."""
