"""Brings the small screens to the front, and hands on to them what concerns them while they are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App

from chatkv.protocol import Summarized
from chatkv.tui.behind.desk import Desk
from chatkv.tui.screens.summary import SummaryScreen
from chatkv.tui.talk.exchange import Choose, Issue


def show_summary(app: App[Any], desk: Desk) -> None:
    """The summary as far as it is known; the newest comes as soon as the worker says it."""
    known = desk.conversation.memory.summary
    app.push_screen(SummaryScreen(known, lambda command: desk.do([Issue(command)])))


def show_models(app: App[Any], desk: Desk) -> None:
    """The choice of a model, unless it is in front already."""
    from chatkv.tui.screens.models import ModelScreen

    if not isinstance(app.screen, ModelScreen):
        held = desk.conversation.held
        app.push_screen(ModelScreen(desk.models.offers, desk.models.room, held), desk.models.chosen)


def ask_about(app: App[Any], choose: Choose, settle: Callable[[str, str | None], None]) -> None:
    """Ask what shall become of a message that is too long."""
    from chatkv.tui.screens.overlong import OverlongScreen

    question = OverlongScreen(choose.text, choose.message, choose.choices)
    app.push_screen(question, lambda choice: settle(choose.text, choice))


def update_front(app: App[Any], summary: Summarized) -> None:
    """There is a newer summary."""
    if isinstance(app.screen, SummaryScreen):
        app.screen.show(summary)


def fail_front(app: App[Any], error: str) -> None:
    """Something that was asked for failed."""
    if isinstance(app.screen, SummaryScreen):
        app.screen.fail(error)
