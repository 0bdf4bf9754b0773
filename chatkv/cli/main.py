"""`chatkv` itself: the app when called alone, and the group of all commands."""

from __future__ import annotations

import sys
from typing import Any

import click

from chatkv import __version__
from chatkv.cli.settings import Settings
from chatkv.errors import ChatkvError, ConfigError, UsageError


class _Group(click.Group):
    """Turns every `ChatkvError` into one clear line and its exit code, and loads commands when they are needed."""

    _rooms = ("ask", "bench", "cache", "config", "doctor", "models", "sessions", "stdio")

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._rooms)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._rooms:
            return None
        import importlib

        command: click.Command = importlib.import_module(f"chatkv.cli.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ChatkvError as error:
            complain(error)
            ctx.exit(error.exit_code)


def complain(error: ChatkvError) -> None:
    """One line of what happened and one of what to do, on stderr."""
    click.secho(f"chatkv: {error.message}", err=True, fg="red")
    if error.hint:
        click.echo(f"        {error.hint}", err=True)


@click.group(
    cls=_Group, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="chatkv")
@click.option(
    "-r",
    "--resume",
    metavar="[ID]",
    is_flag=False,
    flag_value="last",
    help="Resume a session; alone: the last one.",
)
@click.option("-m", "--model", metavar="MODEL", help='"starter", a hub id, a folder or a *.gguf file.')
@click.option("--db", metavar="FILE", type=click.Path(), help="The database to use.")
@click.option(
    "--set",
    "sets",
    metavar="KEY=VALUE",
    multiple=True,
    help="Any setting of config.toml, e.g. sampling.seed=1.",
)
@click.option("--inline", is_flag=True, help="The app below the prompt; the last answer stays there.")
@click.pass_context
def main(
    ctx: click.Context,
    resume: str | None,
    model: str | None,
    db: str | None,
    sets: tuple[str, ...],
    inline: bool,
) -> None:
    """Chat with a local language model on a live KV cache.

    Without a command: the app. Conversations are saved; resume them with -r.
    """
    overrides: dict[str, Any] = dict(_assignment(text) for text in sets)
    overrides |= {
        key: value for key, value in (("model", model), ("store.database", db)) if value is not None
    }
    ctx.obj = Settings(overrides)
    if ctx.invoked_subcommand is None:
        _start(ctx.obj, resume, inline=inline)
    elif resume is not None:
        raise UsageError("-r goes with the app alone.", "For one turn: `chatkv ask --session ID …`.")
    elif inline:
        raise UsageError("--inline goes with the app alone.", "Leave it out, or the command.")


def _start(settings: Settings, resume: str | None, *, inline: bool) -> None:
    config, paths = settings.config(), settings.paths()
    if not sys.stdin.isatty():
        from chatkv.cli.ask import ask_once

        ask_once(
            config,
            paths,
            [],
            session=resume,
            as_json=False,
            own_model="model" not in settings.overrides,
        )
        return
    if not sys.stdout.isatty():
        raise UsageError(
            "The app needs a terminal, and its output goes to a file or pipe.", 'Use `chatkv ask "…"`.'
        )
    if inline and (sys.platform == "win32" or not sys.stderr.isatty()):
        raise UsageError("--inline needs a terminal on stderr too, and a Unix.", "Leave it out.")
    sys.stdout.write(
        "chatkv …"
    )  # the app's own first frame needs Textual, which a slow machine loads in a second
    sys.stdout.flush()
    try:
        from chatkv.tui import run_app
    finally:
        sys.stdout.write("\r\x1b[K")
        sys.stdout.flush()
    run_app(config, paths, resume, settings.overrides, inline=inline)


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text}: expected KEY=VALUE.", "For example --set sampling.temperature=0.")
    return key.strip(), value
