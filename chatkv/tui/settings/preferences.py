"""Every setting as the settings screen shows it: its value, where that comes from, what it means, when it acts.

Reads all layers and writes the person's file; knows neither widgets nor the worker.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from chatkv.config import (
    LIVE_SETTINGS,
    Config,
    Origin,
    changed,
    config_file,
    flatten,
    keys,
    load_config,
    origins,
)
from chatkv.config.convert import choices_of, kind_of
from chatkv.config.meaning import meanings
from chatkv.config.writing import write_setting
from chatkv.errors import ConfigError
from chatkv.paths import Paths
from chatkv.tui.behind.launch import spelled

Acts = Literal["now", "reload", "start"]
"""At once; when the model is loaded the next time; at the next start of chatkv."""

_NOW = ("ui.", *LIVE_SETTINGS)
"""Settings that the app or the worker takes up while they run."""
_AT_THE_START = ("model", "store.database")
_NOTHING = {
    "chat.system": "the template's own",
    "store.database": "the usual place",
    "load.revision": "the default",
}


@dataclass(frozen=True, slots=True)
class Preference:
    """One setting. `choices`: all that can be chosen; none = it is written."""

    key: str
    value: Any
    default: Any
    origin: Origin
    meaning: str
    choices: tuple[str, ...]
    acts: Acts

    @property
    def section(self) -> str:
        """Its section in the file; empty at the top."""
        return self.key.rpartition(".")[0]

    @property
    def overridden(self) -> bool:
        """Whether what the file says does not count in this run."""
        return self.origin in ("environment", "command line")

    @property
    def in_force(self) -> bool:
        """Whether the value, once saved, can be put into force at once. What is left to the model can not: that is
        known when it is loaded."""
        return self.acts == "now" and self.value is not None and not self.overridden

    @property
    def shown(self) -> str:
        """The value for a person to read."""
        return shown(self.key, self.value)

    @property
    def editable(self) -> str:
        """The value as it is written in a line of its own."""
        if isinstance(self.value, tuple):
            return json.dumps(list(self.value), ensure_ascii=False) if self.value else ""
        return "" if self.value is None else spelled(self.value)


class Preferences:
    """The settings of this run. `overrides` were typed for it; `themes` are the names that `ui.theme` can have."""

    def __init__(
        self,
        paths: Paths,
        overrides: Mapping[str, Any] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        themes: Sequence[str] = (),
    ) -> None:
        self._paths, self._overrides, self._environ = paths, dict(overrides or {}), environ
        self._themes = tuple(themes)

    @property
    def file(self) -> Path:
        """What is written to."""
        return config_file(self._paths, self._environ)

    def all(self) -> list[Preference]:
        """All of them, as they stand in file, environment and command line now. Raises `ConfigError`."""
        values, come_from = flatten(self._load()), self._origins()
        defaults = flatten(Config())
        return [
            Preference(
                key,
                values[key],
                defaults[key],
                come_from.get(key, "default"),
                meanings().get(key, ""),
                self._choices(key),
                _acts(key),
            )
            for key in keys()
        ]

    def one(self, key: str) -> Preference:
        """The setting at dotted `key`, as it stands now. Raises `ConfigError`."""
        return next(preference for preference in self.all() if preference.key == key)

    def save(self, key: str, text: str) -> Preference:
        """Write what was chosen or typed. Raises `ConfigError`, with nothing written, where it cannot be meant."""
        default = flatten(Config())[key]
        if default is None and not text.strip():
            return self.reset(key)
        kind = kind_of(key)
        value = flatten(changed(self._load(), key, text if kind is str else text.strip()))[key]
        choices = self._choices(key)
        if kind is str and choices and value not in choices:
            raise ConfigError(f"{key} = {value!r}: must be one of {', '.join(choices)}.")
        write_setting(self.file, key, value)
        return self.one(key)

    def reset(self, key: str) -> Preference:
        """Write the default, or take the line out where that is left to the model. Raises `ConfigError`."""
        write_setting(self.file, key, flatten(Config())[key])
        return self.one(key)

    def _load(self) -> Config:
        return load_config(self._overrides, paths=self._paths, environ=self._environ)

    def _origins(self) -> dict[str, Origin]:
        return origins(self._overrides, paths=self._paths, environ=self._environ)

    def _choices(self, key: str) -> tuple[str, ...]:
        if key == "ui.theme":
            return self._themes
        return ("true", "false") if kind_of(key) is bool else choices_of(key)


def shown(key: str, value: Any) -> str:
    """A value of `key` for a person to read."""
    if value is None:
        return "the model's own"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return json.dumps(list(value), ensure_ascii=False) if value else "none"
    return str(value) if value != "" else _NOTHING.get(key, "empty")


def _acts(key: str) -> Acts:
    if key in _AT_THE_START:
        return "start"
    return "now" if key.startswith(_NOW) else "reload"
