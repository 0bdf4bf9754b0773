"""`chatkv config`: show what is in force, write a file to start from, say where it is."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from chatkv.errors import ConfigError

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings


_KEYS_CELLS = 48


@click.group("config")
def command() -> None:
    """Show, start or find the configuration."""


@command.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def show(settings: Settings, as_json: bool) -> None:
    """Print every setting in force."""
    from chatkv.config import flatten

    values = flatten(settings.config())
    if as_json:
        print(json.dumps(values))
        return
    for key, value in values.items():
        print(f"{key} = {_toml(value)}")


@command.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def keys(settings: Settings, as_json: bool) -> None:
    """Print the keys of the app in force, by the names that [keys] knows them by."""
    from chatkv.tui.settings.keymap import bindings, read_keymap

    keymap = read_keymap(settings.config().keys)
    in_force = {name: list(keymap.keys(name)) for name in bindings()}
    if as_json:
        print(json.dumps(in_force))
        return
    for name, found in bindings().items():
        print(f'"{name}" = "{",".join(in_force[name])}"'.ljust(_KEYS_CELLS), f"# {found[0].tooltip}")


@command.command()
@click.pass_obj
def init(settings: Settings) -> None:
    """Write the documented default file, if there is none yet."""
    from chatkv.config import config_file, default_toml

    file = config_file(settings.paths())
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(default_toml())
    except FileExistsError as error:
        raise ConfigError(f"{file} is there already.", "Edit it, or move it away first.") from error
    print(file)


@command.command()
@click.pass_obj
def path(settings: Settings) -> None:
    """Print where the file is read from."""
    from chatkv.config import config_file

    file = config_file(settings.paths())
    print(file)
    if not file.exists():
        print("(not there yet: `chatkv config init` writes it)", file=sys.stderr)


def _toml(value: object) -> str:
    if value is None:
        return "# left to the model"
    if isinstance(value, tuple):
        return "[" + ", ".join(json.dumps(item) for item in value) + "]"
    return json.dumps(value)
