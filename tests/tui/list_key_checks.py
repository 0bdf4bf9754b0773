"""One check for every key of the screens in front of the chat: sessions, questions, help."""

from __future__ import annotations

from functools import partial

from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from chatkv.store import Store
from chatkv.tui.screens.ask import ConfirmScreen, NameScreen
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.help import HelpScreen
from chatkv.tui.screens.sessions import SessionsScreen
from tui.driving import (
    database_of,
    say,
    sees,
    shown,
    states,
    until,
)
from tui.key_checks import changed, checks


async def in_sessions(pilot: Pilot[None]) -> OptionList:
    await pilot.press("ctrl+n")
    await say(pilot, "second")
    await pilot.press("ctrl+o")
    await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))
    await sees(pilot, "2 of 2")
    return pilot.app.screen.query_one(OptionList)


@checks("sessions.open", whole=True)
async def open_session(pilot: Pilot[None], key: str) -> None:
    await in_sessions(pilot)
    await pilot.press("down", "enter")
    await sees(pilot, "You said: hello")
    await say(pilot, "more")
    assert states(pilot) == ["complete", "complete"]


@checks("sessions.up", "sessions.down", "sessions.pageup", "sessions.pagedown", whole=True)
async def mark(pilot: Pilot[None], key: str) -> None:
    marked = await in_sessions(pilot)
    for wanted, at in (("pagedown", 1), ("up", 0), ("down", 1), ("pageup", 0)):
        await pilot.press(wanted)
        assert marked.highlighted == at


@checks("sessions.new")
async def new_from_list(pilot: Pilot[None], key: str) -> None:
    await in_sessions(pilot)
    await pilot.press(key)
    await until(pilot, lambda: not states(pilot) and isinstance(pilot.app.screen, ChatScreen))


@checks("sessions.rename", "name.cancel", whole=True)
async def rename(pilot: Pilot[None], key: str) -> None:
    await in_sessions(pilot)
    for last in ("escape", "enter"):
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(pilot.app.screen, NameScreen))
        pilot.app.screen.query_one(Input).value = "A better name"
        await pilot.press(last)
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))
        assert ("A better name" in shown(pilot)) is (last == "enter")


@checks("sessions.delete", "confirm.yes", "confirm.no", whole=True)
async def delete(pilot: Pilot[None], key: str) -> None:
    await in_sessions(pilot)
    for answer, left in (("escape", 2), ("n", 2), ("enter", 2), ("y", 1)):
        await pilot.press("ctrl+d")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press(answer)
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))
        with Store.open(database_of(pilot), read_only=True) as store:
            assert len(store.list_sessions()) == left
    await pilot.press("escape")
    assert states(pilot) == [], "the open session was the one deleted"


@checks("sessions.close")
async def close_list(pilot: Pilot[None], key: str) -> None:
    await in_sessions(pilot)
    await pilot.press(*"hello")
    await sees(pilot, "1 of 2")
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


@checks("help.close", whole=True)
async def close_help(pilot: Pilot[None], key: str) -> None:
    for wanted in ("escape", "q"):
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.press(wanted)
        await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


@checks("help.up", "help.down", "help.pageup", "help.pagedown", whole=True)
async def scroll_help(pilot: Pilot[None], key: str) -> None:
    await pilot.press("f1")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    view = pilot.app.screen.query("VerticalScroll").first()
    for wanted, up in (("pagedown", False), ("up", True), ("down", False), ("pageup", True)):
        before = view.scroll_y
        await pilot.press(wanted)
        await until(pilot, partial(changed, view, before))
        assert (view.scroll_y < before) is up
