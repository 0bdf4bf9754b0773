"""`chatkv models`: which models are here, and getting one before it is needed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings
    from chatkv.models import Progress


@click.group("models")
def command() -> None:
    """List models on this machine, or fetch one."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_obj
def list_(settings: Settings, as_json: bool) -> None:
    """List the complete models on this machine."""
    from chatkv.models import installed_models

    models = installed_models(settings.paths().models)
    for model in models:
        if as_json:
            print(json.dumps({**asdict(model), "path": str(model.path)}))
        else:
            print(f"{model.name:48} {model.nbytes / 1e6:10,.0f} MB  {model.kind}")
    if not models and not as_json:
        click.echo("None yet. `chatkv models pull` fetches the starter model.", err=True)


@command.command()
@click.argument("model", default="")
@click.option("--revision", default="", help="Branch, tag or commit of a hub model.")
@click.pass_obj
def pull(settings: Settings, model: str, revision: str) -> None:
    """Fetch MODEL (default: the configured one) and print its folder."""
    from chatkv.models import locate_model

    config = settings.config()
    files = locate_model(
        model or config.model,
        settings.paths().models,
        revision=revision or config.load.revision,
        trust_remote_code=config.load.trust_remote_code,
        refresh=True,
        on_progress=_show,
    )
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    print(files.path / files.gguf if files.gguf else files.path)


def _show(progress: Progress) -> None:
    from chatkv.cli.ask import progress_line

    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{progress_line(progress)}", err=True, nl=False)
