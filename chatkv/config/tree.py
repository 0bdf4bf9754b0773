"""The settings themselves: a frozen dataclass a section, and the tree that holds them.

Knows neither files nor environment; values are taken as they come.
"""

from __future__ import annotations

import dataclasses
import functools
import os.path
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chatkv.paths import Paths


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
    """How much the KV cache may take, and what goes when it is full."""

    budget: str = "auto"
    """`512 MiB`, `25%` or `auto`."""
    policy: str = "summary"
    """`summary`, `window`, `sinks` or `attended`."""
    keep_turns: int = 2
    """The last turns that always stay verbatim."""
    soft: float = 0.70
    """Share of the limit above which idle time is used to compact."""
    hard: float = 0.90
    """Share of the limit above which a turn waits for compaction."""
    target: float = 0.40
    """Share of the limit that compaction leaves in use."""
    summary_tokens: int = 0
    """Longest summary; 0 = by the limit."""
    recall: bool = True
    """Look up each message in the archive."""
    recall_tokens: int = 0
    """Most tokens recalled for a turn; 0 = by the limit."""


@dataclass(frozen=True, slots=True)
class PrefillConfig:
    """How prompts are read."""

    chunk: int = 0
    """Tokens per model call; 0 = by device."""
    draft: bool = True
    """Read a message while it is being written."""


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """Where conversations are kept."""

    database: str = ""
    """Path of the SQLite file; empty = the usual place."""
    kv: str = "auto"
    """Most bytes of KV kept on disk beside it: `8 GiB`, `10%` of what is free, `auto`, or `0` for none."""
    kv_int8: bool = False
    """Keep KV on disk in int8: half the bytes; only where a calibration on your own conversation shows no harm."""


@dataclass(frozen=True, slots=True)
class UiConfig:
    """How the app looks."""

    theme: str = "chatkv"
    """Name of a Textual theme."""
    sidebar: bool = True
    """Show the memory sidebar."""
    notify: bool = True
    """Tell when a long answer ends while the terminal is in the background."""


@dataclass(frozen=True, slots=True)
class Config:
    """The whole tree."""

    model: str = "starter"
    """`starter`, a hub id, a folder or a GGUF file."""
    load: LoadConfig = field(default_factory=LoadConfig)
    """How the model is put into memory."""
    chat: ChatConfig = field(default_factory=ChatConfig)
    """What a new session starts with."""
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    """How the next token is chosen."""
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    """How much the KV cache may take, and what goes when it is full."""
    prefill: PrefillConfig = field(default_factory=PrefillConfig)
    """How prompts are read."""
    store: StoreConfig = field(default_factory=StoreConfig)
    """Where conversations are kept."""
    ui: UiConfig = field(default_factory=UiConfig)
    """How the app looks."""
    keys: tuple[tuple[str, str], ...] = ()
    """Keys of the app other than its own: the id of each binding, and its keys with commas between."""

    def database(self, paths: Paths) -> Path:
        """The SQLite file in force."""
        if not self.store.database:
            return paths.database
        return Path(os.path.expanduser(self.store.database)).absolute()


FREE = "keys"
"""The section whose names are not fixed: what they may be, the app knows."""


LIVE_SETTINGS = ("sampling.", "memory.", "chat.system", "chat.thinking", "store.kv", "prefill.draft")
"""Beginnings of the keys that a running worker takes up at once."""


def keys() -> dict[str, Any]:
    """Every dotted key with the type its value must have, in declaration order; without those of `FREE`."""
    return dict(_kinds())


def is_free(key: str) -> bool:
    """Whether dotted `key` lies in the section whose names are not fixed."""
    return key.startswith(f"{FREE}.") and key != f"{FREE}."


@functools.cache
def _kinds() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, kind in typing.get_type_hints(Config).items():
        if name == FREE:
            continue
        if dataclasses.is_dataclass(kind):
            found.update({f"{name}.{inner}": hint for inner, hint in typing.get_type_hints(kind).items()})
        else:
            found[name] = kind
    return found


def sections() -> tuple[str, ...]:
    """Names of the sections, in declaration order."""
    return tuple(dict.fromkeys(key.partition(".")[0] for key in keys() if "." in key))


def flatten(config: Config) -> dict[str, Any]:
    """The tree as dotted keys and values, in declaration order."""
    values: dict[str, Any] = {}
    for key in keys():
        section, _, name = key.rpartition(".")
        values[key] = getattr(getattr(config, section) if section else config, name)
    return values | {f"{FREE}.{name}": value for name, value in config.keys}


def replaced(config: Config, key: str, value: Any) -> Config:
    """`config` with the setting at dotted `key`, which must exist, set to `value` as it is."""
    if is_free(key):
        return dataclasses.replace(
            config, keys=tuple({**dict(config.keys), key.removeprefix(f"{FREE}."): value}.items())
        )
    section, _, name = key.rpartition(".")
    if not section:
        return dataclasses.replace(config, **{name: value})
    inner = dataclasses.replace(getattr(config, section), **{name: value})
    return dataclasses.replace(config, **{section: inner})
