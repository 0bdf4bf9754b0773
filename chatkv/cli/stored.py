"""What the commands on stored conversations share: the open store, and stored text made harmless for a terminal."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings
    from chatkv.store import Store


@contextmanager
def store_of(settings: Settings) -> Iterator[Store]:
    """The store that the settings name, open."""
    from chatkv.store import Store

    def tell(text: str) -> None:
        click.echo(text, err=True)

    with Store.open(settings.config().database(settings.paths()), tell=tell) as store:
        yield store


def when(seconds: float) -> str:
    """A time in this machine's zone, to the minute."""
    return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def line(text: str) -> str:
    """One inert line: control characters of stored text are not for the terminal to obey."""
    return "".join(c if c.isprintable() else " " for c in encodable(text))


def encodable(text: str) -> str:
    """`text` with question marks for what no terminal can be sent."""
    return text.encode("utf-8", "replace").decode()
