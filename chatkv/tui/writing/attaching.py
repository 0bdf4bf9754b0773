"""Files that a message names behind an @: what one means while it is typed, and their text when it is sent.

Plain functions; knows no widgets. Listing and reading touch the disk: call them beside the screen's loop.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from pathlib import Path

from chatkv.errors import UsageError

_MAX_BYTES = 4 << 20
_MAX_LOOKED_AT = 20_000
_MAX_LISTED = 50
_MENTION = re.compile(r"""(?<!\S)@(?:"(?P<quoted>[^"\n]+)"|(?P<bare>[^\s"]+))""")
_BEGUN = re.compile(r"""(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]*)|(?P<bare>[^\s"]*))$""")


@dataclass(frozen=True, slots=True)
class Mention:
    """A path behind an @, and where it stands in its text, the @ included."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder that what is typed may become. `path` as one would type it."""

    path: str
    folder: bool

    @property
    def typed(self) -> str:
        """What is to be written for it: a folder stays open for more."""
        name = f"{self.path}/" if self.folder else self.path
        if not re.search(r"\s", name):
            return f"@{name}"
        return f'@"{name}' if self.folder else f'@"{name}"'


def begun(line: str, column: int) -> Mention | None:
    """The path that is being typed at `column`, if any."""
    found = _BEGUN.search(line[:column])
    return Mention(found["quoted"] or found["bare"] or "", found.start(), column) if found else None


def mentions(text: str) -> list[Mention]:
    """All paths that `text` names."""
    return [
        Mention(found["quoted"] or found["bare"], found.start(), found.end())
        for found in _MENTION.finditer(text)
    ]


def listed(begun_path: str, folder: Path) -> list[Entry]:
    """What a path that begins so may become, folders first, at most 50; paths are relative to `folder`.

    Hidden names only where the last part begins with a dot. In a huge folder only some of the names are looked at.
    """
    head, slash, tail = begun_path.rpartition("/")
    place = folder / os.path.expanduser(head + slash)
    found: list[Entry] = []
    try:
        with os.scandir(place) as names:
            for name in islice(names, _MAX_LOOKED_AT):
                hidden = name.name.startswith(".") and not tail.startswith(".")
                if name.name.lower().startswith(tail.lower()) and not hidden and _plain(name.name):
                    found.append(Entry(head + slash + name.name, _is_folder(name)))
    except (OSError, ValueError, RuntimeError):
        return []
    return nsmallest(_MAX_LISTED, found, key=lambda entry: (not entry.folder, entry.path.lower(), entry.path))


def files_in(text: str, folder: Path) -> list[tuple[Mention, Path]]:
    """The files that `text` names, and where they are. A name of no file is just text, and so is a stop behind one."""
    found = []
    for mention in mentions(text):
        bare = mention.path.rstrip(".,;:!?)")
        for path in dict.fromkeys([mention.path, bare]):
            file = folder / os.path.expanduser(path)
            if path and _is_file(file):
                n_cut = len(mention.path) - len(path)
                found.append((Mention(path, mention.start, mention.end - n_cut), file))
                break
    return found


def text_of(file: Path) -> str:
    """The text of a file that is to be attached. Raises `UsageError`."""
    try:
        n_bytes = file.stat().st_size
        if n_bytes > _MAX_BYTES:
            raise UsageError(
                f"{file} is larger than {_MAX_BYTES >> 20} MiB.",
                "/keep takes larger ones: passages of them are recalled.",
            )
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{file} is not UTF-8 text.", "Convert it first, or put a space behind the @."
        ) from error
    if "\0" in text:
        raise UsageError(f"{file} is not text.", "Put a space behind the @ to send its name.")
    return text


def attached(text: str, folder: Path) -> list[tuple[Mention, str]]:
    """The files that `text` names, and what stands for each in a message. Raises `UsageError`."""
    return [(mention, fenced(file.name, text_of(file))) for mention, file in files_in(text, folder)]


def fenced(name: str, text: str) -> str:
    """What stands for a file in a message: its text under its name, in a fence that is longer than any within."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    end = "" if text.endswith("\n") or not text else "\n"
    return f"{name}:\n\n{fence}\n{text}{end}{fence}\n"


def _plain(name: str) -> bool:
    """Whether a name can be typed and shown as it is."""
    return name.isprintable() and '"' not in name


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _is_folder(name: os.DirEntry[str]) -> bool:
    try:
        return name.is_dir()
    except OSError:
        return False
