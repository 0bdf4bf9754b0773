"""Commands and events as lines of JSON, both ways.

Knows the shape of a line and nothing of what commands do.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import re
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from chatkv.errors import UsageError
from chatkv.protocol.commands import Command
from chatkv.protocol.events import Event

_SHOWN_CHARS = 60


def type_name(kind: type) -> str:
    """`PrefixBreak` → `prefix_break`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


_COMMANDS: dict[str, type] = {type_name(kind): kind for kind in typing.get_args(Command)}
_EVENTS: dict[str, type] = {type_name(kind): kind for kind in typing.get_args(Event)}
_SPOKEN: dict[type, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def to_json(item: Command | Event) -> str:
    """One line of JSON, without a newline. Lone surrogates are escaped, so that any text survives."""
    return json.dumps({"type": type_name(type(item)), **dataclasses.asdict(item)}, ensure_ascii=True)


def command_from_json(line: str) -> Command:
    """Parse a command line. Raises `UsageError` that names what is wrong."""
    name, fields = _command_parts(line)
    kind = _COMMANDS.get(name)
    if kind is None:
        raise UsageError(f"Unknown command `{_short(name)}`.", _nearest(name, _COMMANDS, "Types"))
    hints = typing.get_type_hints(kind)
    for key, value in fields.items():
        if key not in hints:
            raise UsageError(f"`{name}` has no field `{_short(key)}`.", _nearest(key, hints, "Fields"))
        if not _fits(value, hints[key]):
            raise UsageError(
                f"`{name}.{key}` cannot be {_short(json.dumps(value))}.", f"It must be {_spoken(hints[key])}."
            )
    if missing := _missing(kind, fields):
        raise UsageError(f"`{name}` needs {', '.join(f'`{field}`' for field in missing)}.")
    return typing.cast(Command, kind(**fields))


def event_from_json(line: str) -> Event | None:
    """Parse an event line that chatkv wrote; None for a type or line this version does not know."""
    try:
        table = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(table, dict) or not isinstance(table.get("type"), str):
        return None
    kind = _EVENTS.get(table["type"])
    if kind is None or _missing(kind, table):
        return None
    return typing.cast(Event, _built(kind, table))


def _built(kind: Any, table: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(
        **{
            key: _restored(value, hints[key]) if isinstance(value, list) else value
            for key, value in table.items()
            if key in hints
        }
    )


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _restored(value: list[Any], hint: Any) -> Any:
    """JSON's lists as the tuples that they were, of dataclasses where `hint` says so."""
    item: Any = typing.get_args(hint)[0]
    if item is str or item is int:
        return tuple(value)
    if _is_flat(item):
        return tuple(_row(item, tuple(row), tuple(row.values())) for row in value)
    return tuple(_built(item, row) for row in value)


@functools.cache
def _is_flat(kind: Any) -> bool:
    return not any(typing.get_origin(hint) is tuple for hint in _hints(kind).values())


@functools.lru_cache(maxsize=4096)
def _row(kind: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """Remembered, since most of the many rows of an event are those of the event before."""
    return _built(kind, dict(zip(names, values, strict=True)))


def _command_parts(line: str) -> tuple[str, dict[str, Any]]:
    """The command's name and its fields."""
    try:
        table = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"Not a JSON object: {error}.", 'Send lines like {"type": "send", "text": "hi"}.'
        ) from error
    if not isinstance(table, dict) or not isinstance(table.get("type"), str):
        raise UsageError("A command is a JSON object with a `type`.", f"Types: {', '.join(_COMMANDS)}.")
    return table.pop("type"), table


def _missing(kind: Any, table: Mapping[str, Any]) -> list[str]:
    return [name for name in _required(kind) if name not in table]


@functools.cache
def _required(kind: Any) -> tuple[str, ...]:
    fields = dataclasses.fields(kind)
    return tuple(field.name for field in fields if field.default is dataclasses.MISSING)


def _fits(value: Any, hint: Any) -> bool:
    if typing.get_origin(hint) is typing.Literal:
        return value in typing.get_args(hint)
    allowed = typing.get_args(hint) or (hint,)
    return type(value) in allowed or (type(value) is int and float in allowed)


def _spoken(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(f'"{option}"' for option in typing.get_args(hint))
    return " or ".join(_SPOKEN[option] for option in typing.get_args(hint) or (hint,))


def _nearest(name: str, known: Iterable[str], title: str) -> str:
    names = list(known)
    near = difflib.get_close_matches(name[:_SHOWN_CHARS], names, n=1)
    return f"Did you mean `{near[0]}`?" if near else f"{title}: {', '.join(names) or 'none'}."


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
