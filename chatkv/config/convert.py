"""From what a person wrote to a value of the right type and range, or a `ConfigError` that says what to mend.

Knows keys and types; neither files nor the order of layers.
"""

from __future__ import annotations

import difflib
import tomllib
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from chatkv.config.tree import is_free, keys
from chatkv.errors import ConfigError

_RANGES: dict[str, tuple[float, float]] = {
    "load.threads": (0, 4096),
    "chat.context": (0, 1 << 30),
    "sampling.temperature": (0, 100),
    "sampling.top_k": (0, 1 << 30),
    "sampling.top_p": (1e-9, 1),
    "sampling.min_p": (0, 1),
    "sampling.repetition_penalty": (0.01, 100),
    "sampling.seed": (0, 2**63 - 1),
    "sampling.max_new_tokens": (1, 1 << 30),
    "memory.keep_turns": (1, 1 << 20),
    "memory.soft": (0.1, 1),
    "memory.hard": (0.1, 1),
    "memory.target": (0.05, 1),
    "memory.summary_tokens": (0, 1 << 20),
    "memory.recall_tokens": (0, 1 << 20),
    "prefill.chunk": (0, 1 << 20),
}

_CHOICES: dict[str, tuple[str, ...]] = {
    "load.dtype": ("auto", "bfloat16", "float16", "float32"),
    "load.weights": ("auto", "int8", "nf4"),
    "memory.policy": ("summary", "window", "sinks", "attended"),
}

_SPOKEN: dict[Any, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple[str, ...]: 'a list of strings, like ["a", "b"]',
}

_SWITCH = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


def checked(key: str, raw: Any, where: str, *, parse: bool) -> Any:
    """`raw` as the value of `key`. Raises `ConfigError` that opens with `where`.

    `parse`: strings stand for any type (environment, command line); without it the type must fit (TOML).
    """
    if is_free(key):
        return _as_keys(raw, where)
    kind = kind_of(key)
    try:
        value = _fitted(_PARSERS[kind](raw) if parse and isinstance(raw, str) else raw, kind)
    except (ValueError, OverflowError) as error:
        raise ConfigError(
            f"{where} = {raw!r}: expected {_SPOKEN[kind]}.",
            "See the comment on this key in the file that `chatkv config init` writes.",
        ) from error
    _check_range(key, value, where)
    return value


def require_known(key: str, known: Iterable[str], where: str, *, prefix: str = "") -> None:
    """Raise `ConfigError` with the nearest of `known`, after `prefix`, if `key` is none of them."""
    names = list(known)
    if key in names or is_free(key):
        return
    last = key.rpartition(".")[2]
    same = [name for name in names if name.rpartition(".")[2] == last]
    near = same or difflib.get_close_matches(key, names, n=1)
    hint = f"Did you mean `{prefix}{near[0]}`?" if near else "`chatkv config show` lists every setting."
    raise ConfigError(f"{where}: there is no such setting.", hint)


def kind_of(key: str) -> Any:
    """The type of what can be written as `key`: `float | None` → `float`."""
    kind = keys()[key]
    if isinstance(kind, types.UnionType):
        return next(option for option in typing.get_args(kind) if option is not type(None))
    return kind


def choices_of(key: str) -> tuple[str, ...]:
    """All that can be written as `key`, where that is a short list; else nothing."""
    return _CHOICES.get(key, ())


def _as_keys(raw: Any, where: str) -> str:
    """One key or several: `"ctrl+x,f2"` or `["ctrl+x", "f2"]`."""
    names = raw.split(",") if isinstance(raw, str) else raw if isinstance(raw, list | tuple) else ()
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise ConfigError(
            f"{where} = {raw!r}: expected a key, or keys with commas between.",
            'Like "ctrl+x" or "ctrl+x,f2".',
        )
    return ",".join(name.strip() for name in names)


def _fitted(value: Any, kind: Any) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if kind == tuple[str, ...] and isinstance(value, list | tuple):
        if all(isinstance(item, str) for item in value):
            return tuple(value)
    elif type(value) is kind:
        return value
    raise ValueError


def _to_bool(text: str) -> bool:
    if text.strip().lower() not in _SWITCH:
        raise ValueError
    return _SWITCH[text.strip().lower()]


def _to_strings(text: str) -> Any:
    """`["a", "b"]` as in TOML; any other text is the one string of the list; no text is none."""
    if text.lstrip().startswith("["):
        return tomllib.loads(f"v = {text}")["v"]
    return (text,) if text else ()


_PARSERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: _to_bool,
    tuple[str, ...]: _to_strings,
}


def _check_range(key: str, value: Any, where: str) -> None:
    if key in _RANGES:
        low, high = _RANGES[key]
        if not low <= value <= high:
            raise ConfigError(f"{where} = {value!r}: must lie between {low:g} and {high:g}.")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise ConfigError(f"{where} = {value!r}: must be one of {', '.join(_CHOICES[key])}.")
