"""Writes one setting into a person's `config.toml` and leaves all else in it as it stands: comments, order, spaces.

The file is read right before, so that what an editor saved meanwhile stays. Decides nothing about values.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Comment, InlineTable, Item, Table, Trivia

from chatkv.config.load import default_toml
from chatkv.config.tree import FREE
from chatkv.errors import ConfigError

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


def write_setting(file: Path, key: str, value: Any) -> None:
    """Set dotted `key` to `value`, which has its right type; None takes it out, so that the default counts.

    A file that is not there begins as a copy of the default one. Raises `ConfigError`, with nothing written, for a
    file that cannot be read, is not valid TOML, or cannot be written.
    """
    try:
        text = file.read_bytes().decode("utf-8") if file.exists() else default_toml()
    except (OSError, ValueError) as error:
        raise ConfigError(f"Cannot read {file}: {error}.", "Nothing was written.") from error
    mark, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    try:
        written = _with(text, key, value)
        tomllib.loads(written.replace("\r\n", "\n"))
    except (ValueError, TOMLKitError, RecursionError) as error:
        hint = "Nothing was written. Mend that line, or move the file away."
        raise ConfigError(f"{file} is not valid TOML: {error}.", hint) from error
    try:
        _replace(file, (mark + written).encode())
    except OSError as error:
        raise ConfigError(
            f"Cannot write {file}: {error.strerror or error}.", "Nothing was changed."
        ) from error


def _with(text: str, key: str, value: Any) -> str:
    tomllib.loads(text)  # the stricter of the two: what it refuses, the next start would refuse
    document = tomlkit.parse(text)
    section, _, name = key.partition(".")
    if not name:
        _put(document, section, value)
        return tomlkit.dumps(document)
    if section not in document:
        if value is None:
            return text
        document.add(section, tomlkit.table())
    table = document[section]
    if not isinstance(table, Table | InlineTable):
        raise ValueError(f"{section} is a section, and stands there as a setting")
    if section == FREE:
        _drop_unquoted(table, name)
    _put(table.value, name, value)
    return tomlkit.dumps(document)


def _put(table: Container, name: str, value: Any) -> None:
    """Set or take out one item. A comment behind it stays, in its column; without the item, on a line of its own."""
    found = [(at, item) for at, (key, item) in enumerate(table.body) if key is not None and key.key == name]
    if value is not None:
        plain = list(value) if isinstance(value, tuple) else value
        if found:
            before = len(found[0][1].as_string())
            table[name] = plain
            _align(next(item for key, item in table.body if key is not None and key.key == name), before)
        else:
            table[name] = plain
    elif found:
        at, item = found[0]
        table.remove(name)
        trivia = item.trivia
        if trivia.comment:
            table.body[at] = (None, Comment(Trivia("", "", trivia.comment, trivia.trail)))


def _align(item: Item, width_before: int) -> None:
    trivia = item.trivia
    if trivia.comment and "\n" not in item.as_string():
        trivia.comment_ws = " " * max(1, len(trivia.comment_ws) + width_before - len(item.as_string()))


def _drop_unquoted(table: Table | InlineTable, name: str) -> None:
    """Take out `a.b = …`, which means the same as `"a.b" = …`."""
    outer, _, inner = name.partition(".")
    holder = table.get(outer)
    if inner and isinstance(holder, Table | InlineTable):
        holder.pop(inner, None)
        if not holder:
            table.pop(outer)


def _replace(file: Path, content: bytes) -> None:
    """Old or new, never half of it. A link stays a link, and a file keeps its mode."""
    target = Path(os.path.realpath(file))
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError, AttributeError):  # not every system can
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
