"""`chatkv stdio`: the protocol on stdin and stdout, for the app, scripts, editors and tests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings


@click.command("stdio")
@click.option(
    "--stop-at-end",
    is_flag=True,
    help="The end of stdin stops a running answer instead of letting it finish.",
)
@click.pass_obj
def command(settings: Settings, stop_at_end: bool) -> None:
    """Speak the protocol: one JSON command a line in, one JSON event a line out.

    Commands: open new send stop regenerate continue edit fork set stats close. Example: {"type": "send", "text": "hi"}
    """
    from chatkv.worker import private_stdout, serve

    sink = private_stdout()
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    sys.exit(serve(settings.config(), settings.paths(), sys.stdin, sink, stop_at_end=stop_at_end))
