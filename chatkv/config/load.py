"""Reads the layers and lays them over each other: file, environment, command line. The later one wins.

Every value is checked where it was written, even if a later layer replaces it.
"""

from __future__ import annotations

import importlib.resources
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from chatkv.config.convert import checked, require_known
from chatkv.config.tree import FREE, Config, keys, replaced, sections
from chatkv.errors import ConfigError
from chatkv.paths import Paths, locate

Origin = Literal["default", "file", "environment", "command line"]
"""Where the value in force comes from."""

_NOT_SETTINGS = {"CHATKV_HOME", "CHATKV_CONFIG", "CHATKV_TEST_CACHE"}
"""Variables with the prefix that say where files lie (the last one: the tests' model)."""

_PREFIX = "CHATKV_"
_HEADER = re.compile(r"\s*\[\s*([\w.-]+)\s*\]")
_ITEM = re.compile(r"""\s*["']?([\w.-]+)["']?\s*=""")


def default_toml() -> str:
    """Text of the packaged default file (the repository's `config.toml`)."""
    packaged = importlib.resources.files("chatkv").joinpath("config.toml")
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    return (Path(__file__).parents[2] / "config.toml").read_text(encoding="utf-8")


def config_file(paths: Paths, environ: Mapping[str, str] | None = None) -> Path:
    """The file that holds the user's settings: `$CHATKV_CONFIG`, else the usual place."""
    override = (os.environ if environ is None else environ).get("CHATKV_CONFIG")
    return Path(os.path.expanduser(override)) if override else paths.config_file


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
    config = Config()
    for _, key, value in _layers(overrides or {}, paths, environ):
        config = replaced(config, key, value)
    return config


def origins(
    overrides: Mapping[str, Any] | None = None,
    *,
    paths: Paths | None = None,
    environ: Mapping[str, str] | None = None,
) -> dict[str, Origin]:
    """Which layer each setting's value comes from that does not come from the defaults. Arguments and errors as in
    `load_config`."""
    return {key: origin for origin, key, _ in _layers(overrides or {}, paths, environ)}


def _layers(
    overrides: Mapping[str, Any], paths: Paths | None, environ: Mapping[str, str] | None
) -> Iterator[tuple[Origin, str, Any]]:
    """What each layer sets, the weakest first."""
    env = os.environ if environ is None else environ
    file = config_file(paths or locate(env.get("CHATKV_HOME")), env)
    layers: dict[Origin, Iterator[tuple[str, Any]]] = {
        "file": _from_file(file),
        "environment": _from_environment(env),
        "command line": _from_command_line(overrides),
    }
    for origin, settings in layers.items():
        for key, value in settings:
            yield origin, key, value


def changed(config: Config, key: str, value: Any) -> Config:
    """`config` with dotted `key` set to `value`, checked like any other source. Raises `ConfigError`."""
    require_known(key, keys(), key)
    return replaced(config, key, checked(key, value, key, parse=True))


def _from_file(file: Path) -> Iterator[tuple[str, Any]]:
    text = _text(file)
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{file} is not valid TOML: {error}.", "Mend that line, or move the file away."
        ) from error
    lines = _line_numbers(text)
    for key, value in _settings(table, file, lines):
        where = _place(file, key, lines)
        require_known(key, keys(), where)
        yield key, checked(key, value, where, parse=False)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"Cannot read {file}: {error}.", "Check its permissions and encoding (UTF-8)."
        ) from error


def _settings(table: Mapping[str, Any], file: Path, lines: Mapping[str, int]) -> Iterator[tuple[str, Any]]:
    """Dotted keys and raw values. Raises `ConfigError` where a section and a setting are mixed up."""
    for name, value in table.items():
        where = _place(file, name, lines)
        if name == FREE and isinstance(value, dict):
            yield from _free(FREE, value)
        elif name in (*sections(), FREE):
            if not isinstance(value, dict):
                raise ConfigError(
                    f"{where} is a section, not a setting.", f"Write [{name}] and its settings below it."
                )
            yield from ((f"{name}.{inner}", inner_value) for inner, inner_value in value.items())
        elif name in keys() and isinstance(value, dict):
            raise ConfigError(
                f"{where} is a setting, not a section.", f"Write {name} = … above the first section."
            )
        elif isinstance(value, dict):
            require_known(name, (*sections(), FREE, *keys()), where)
        else:
            yield name, value


def _free(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names with dots in them may be quoted or not: `"chat.stop" = …` and `chat.stop = …` mean the same."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _free(f"{prefix}.{name}", value)
        else:
            yield f"{prefix}.{name}", value


def _from_environment(env: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    known = {key.replace(".", "_").upper(): key for key in keys()}
    for variable, text in env.items():
        if variable.startswith(_PREFIX) and variable not in _NOT_SETTINGS:
            name, where = variable.removeprefix(_PREFIX), f"${variable}"
            require_known(name, known, where, prefix=_PREFIX)
            yield known[name], checked(known[name], text, where, parse=True)


def _from_command_line(overrides: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in overrides.items():
        if value is not None:
            where = f"Command line: {key}"
            require_known(key, keys(), where)
            yield key, checked(key, value, where, parse=True)


def _line_numbers(text: str) -> dict[str, int]:
    """Where sections and settings stand, as far as a plain look at the lines tells; tomllib does not say."""
    found: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            section = header[1] + "."
            found.setdefault(header[1], number)
        elif item := _ITEM.match(line):
            found.setdefault(section + item[1], number)
    return found


def _place(file: Path, key: str, lines: Mapping[str, int]) -> str:
    return f"{file}, line {lines[key]}: {key}" if key in lines else f"{file}: {key}"
