"""One frozen tree of settings. Defaults < config.toml < environment < flags; an unknown key is an error.

Knows nothing of what the settings do. The field docstrings' user-facing twin is `config.toml`, and a test
holds the two together.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib.resources
import os
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chatkv.errors import ConfigError
from chatkv.paths import Paths, locate

_RESERVED = {"CHATKV_HOME", "CHATKV_CONFIG"}


@dataclass(frozen=True, slots=True)
class LoadConfig:
    """How the model is put into memory."""

    device: str = "auto"
    """`auto`, `cpu`, `cuda`, `cuda:N` or `mps`."""
    dtype: str = "auto"
    """`auto`, `bfloat16`, `float16` or `float32`."""
    weights: str = "auto"
    """`auto` (as stored), `int8` or `nf4`."""
    revision: str = ""
    """Revision of a hub model."""
    trust_remote_code: bool = False
    """Run code shipped with a model."""
    threads: int = 0
    """CPU threads; 0 = one per physical core."""


@dataclass(frozen=True, slots=True)
class ChatConfig:
    """What a new session starts with."""

    system: str = ""
    """System prompt; empty = the template's own."""
    thinking: bool = True
    """Ask templates that know the switch for thinking."""
    context: int = 0
    """Upper bound on context tokens; 0 = the model's."""


@dataclass(frozen=True, slots=True)
class SamplingConfig:
    """How the next token is chosen. `None` = the model's recommendation, else a general default."""

    temperature: float | None = None
    """0 = greedy."""
    top_k: int | None = None
    """0 = all tokens."""
    top_p: float | None = None
    """Nucleus mass, 0 < p <= 1."""
    min_p: float | None = None
    """Share of the best token's probability, 0 <= p <= 1."""
    repetition_penalty: float | None = None
    """1 = none."""
    seed: int | None = None
    """Seed of the sampler; None = a new one each turn."""
    max_new_tokens: int = 1024
    """Longest answer, in tokens."""
    stop: tuple[str, ...] = ()
    """Strings that end an answer."""


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """How much the KV cache may take."""

    budget: str = "auto"
    """`512 MiB`, `25%` or `auto`."""


@dataclass(frozen=True, slots=True)
class PrefillConfig:
    """How prompts are read."""

    chunk: int = 0
    """Tokens per model call; 0 = by device."""


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """Where conversations are kept."""

    database: str = ""
    """Path of the SQLite file; empty = the usual place."""


@dataclass(frozen=True, slots=True)
class UiConfig:
    """How the app looks."""

    theme: str = "chatkv"
    """Name of a Textual theme."""
    sidebar: bool = True
    """Show the memory sidebar."""


@dataclass(frozen=True, slots=True)
class Config:
    """The whole tree."""

    model: str = "starter"
    """`starter`, a hub id, a folder or a GGUF file."""
    load: LoadConfig = field(default_factory=LoadConfig)
    chat: ChatConfig = field(default_factory=ChatConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    prefill: PrefillConfig = field(default_factory=PrefillConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    ui: UiConfig = field(default_factory=UiConfig)

    def database(self, paths: Paths) -> Path:
        """The SQLite file in force."""
        return Path(self.store.database).expanduser().absolute() if self.store.database else paths.database


def default_toml() -> str:
    """Text of the packaged default file (the repository's `config.toml`)."""
    packaged = importlib.resources.files("chatkv").joinpath("config.toml")
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    return (Path(__file__).parent.parent / "config.toml").read_text(encoding="utf-8")


def config_file(paths: Paths) -> Path:
    """The file that holds the user's settings: `$CHATKV_CONFIG`, else the usual place."""
    override = os.environ.get("CHATKV_CONFIG")
    return Path(override).expanduser() if override else paths.config_file


def load_config(
    overrides: Mapping[str, Any] | None = None,
    *,
    paths: Paths | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """Read all layers and return the tree.

    `overrides` maps dotted keys (`"sampling.temperature"`) to values typed on the command line; `None` values
    count as not typed. Raises `ConfigError` naming file, line or key, and the nearest known key.
    """
    env = os.environ if environ is None else environ
    file = config_file(paths or locate())
    merged: dict[str, tuple[Any, str]] = {}
    for key, value in _read_file(file):
        merged[key] = (value, f"{file}: {key}")
    for name, text in env.items():
        if name.startswith("CHATKV_") and name not in _RESERVED:
            merged[_key_of_variable(name)] = (text, f"${name}")
    for key, value in (overrides or {}).items():
        if value is not None:
            merged[key] = (value, f"--{key.rpartition('.')[2].replace('_', '-')}")
    return _build(merged)


def keys() -> dict[str, Any]:
    """Every dotted key with the type its value must have."""
    found: dict[str, Any] = {}
    for name, kind in typing.get_type_hints(Config).items():
        if dataclasses.is_dataclass(kind):
            hints = typing.get_type_hints(kind)
            found.update({f"{name}.{inner}": hints[inner] for inner in hints})
        else:
            found[name] = kind
    return found


def changed(config: Config, key: str, value: Any) -> Config:
    """`config` with dotted `key` set to `value`, checked like any other source. Raises `ConfigError`."""
    kinds = keys()
    _require_known(key, kinds, key)
    converted = _convert(value, kinds[key], key)
    _check_range(key, converted, key)
    section, _, name = key.rpartition(".")
    if not section:
        return dataclasses.replace(config, **{name: converted})
    return dataclasses.replace(
        config, **{section: dataclasses.replace(getattr(config, section), **{name: converted})}
    )


def flatten(config: Config) -> dict[str, Any]:
    """The tree as dotted keys and values, in declaration order."""
    values: dict[str, Any] = {}
    for key in keys():
        section, _, name = key.rpartition(".")
        values[key] = getattr(getattr(config, section) if section else config, name)
    return values


def _read_file(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"Cannot read {file}: {error}.", "Check its permissions and encoding (UTF-8)."
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{file} is not valid TOML: {error}.", "Mend that line, or move the file away."
        ) from error
    known = keys()
    for name, value in table.items():
        if isinstance(value, dict):
            for inner, inner_value in value.items():
                key = f"{name}.{inner}"
                _require_known(key, known, f"{file}: {key}")
                yield key, inner_value
        else:
            _require_known(name, known, f"{file}: {name}")
            yield name, value


def _key_of_variable(name: str) -> str:
    wanted = name.removeprefix("CHATKV_").lower()
    for key in keys():
        if key.replace(".", "_") == wanted:
            return key
    _require_known(wanted, {key.replace(".", "_"): None for key in keys()}, f"${name}")
    raise AssertionError("unreachable")


def _require_known(key: str, known: Mapping[str, Any], where: str) -> None:
    if key in known:
        return
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"Did you mean `{near[0]}`?" if near else "`chatkv config show` lists every key."
    raise ConfigError(f"{where}: there is no such setting.", hint)


def _build(merged: Mapping[str, tuple[Any, str]]) -> Config:
    known = keys()
    sections: dict[str, dict[str, Any]] = {}
    top: dict[str, Any] = {}
    for key, (raw, where) in merged.items():
        _require_known(key, known, where)
        section, _, name = key.rpartition(".")
        value = _convert(raw, known[key], where)
        _check_range(key, value, where)
        (sections.setdefault(section, {}) if section else top)[name] = value
    hints = typing.get_type_hints(Config)
    return Config(**top, **{name: hints[name](**values) for name, values in sections.items()})


def _convert(raw: Any, kind: Any, where: str) -> Any:
    """`raw` as `kind`; strings (environment, flags) are parsed, TOML values must already fit."""
    options = (
        [k for k in typing.get_args(kind) if k is not type(None)]
        if isinstance(kind, types.UnionType)
        else [kind]
    )
    target = options[0]
    try:
        if typing.get_origin(target) is tuple:
            items = (
                tomllib.loads(f"v = {raw}")["v"]
                if isinstance(raw, str) and raw.lstrip().startswith("[")
                else raw
            )
            items = [items] if isinstance(items, str) else items
            if isinstance(items, (list, tuple)) and all(isinstance(item, str) for item in items):
                return tuple(items)
        elif target is bool:
            if isinstance(raw, bool):
                return raw
            if isinstance(raw, str) and raw.lower() in ("true", "1", "yes", "on", "false", "0", "no", "off"):
                return raw.lower() in ("true", "1", "yes", "on")
        elif target is str and isinstance(raw, str):
            return raw
        elif target in (int, float) and not isinstance(raw, bool) and isinstance(raw, (int, float, str)):
            if target is int and isinstance(raw, float):
                raise ValueError
            return target(raw)
    except (ValueError, tomllib.TOMLDecodeError):
        pass
    raise ConfigError(
        f"{where} = {raw!r}: expected {_spoken(target)}.",
        "See the comment on this key in `chatkv config show`.",
    )


def _spoken(target: Any) -> str:
    if typing.get_origin(target) is tuple:
        return 'a list of strings, like ["a", "b"]'
    return {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}[target]


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
    "prefill.chunk": (0, 1 << 20),
}

_CHOICES: dict[str, tuple[str, ...]] = {
    "load.dtype": ("auto", "bfloat16", "float16", "float32"),
    "load.weights": ("auto", "int8", "nf4"),
}


def _check_range(key: str, value: Any, where: str) -> None:
    if key in _RANGES and value is not None:
        low, high = _RANGES[key]
        if not low <= value <= high:
            raise ConfigError(f"{where} = {value!r}: must lie between {low:g} and {high:g}.")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise ConfigError(f"{where} = {value!r}: must be one of {', '.join(_CHOICES[key])}.")
