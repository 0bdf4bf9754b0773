"""One check for every key of the app: press it in a running app and see that it does what its tooltip says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from textual.binding import Binding
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input, OptionList

from chatkv.store import Store
from chatkv.tui.app import ChatkvApp
from chatkv.tui.screens.ask import ConfirmScreen, NameScreen
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.help import HelpScreen
from chatkv.tui.screens.sessions import SessionsScreen
from chatkv.tui.widgets.composer import Composer
from chatkv.tui.widgets.sidebar import Sidebar
from tui.driving import (
    chat_of,
    composer,
    database_of,
    idle,
    say,
    sees,
    send,
    shown,
    states,
    streaming,
    transcript,
    until,
)

Check = Callable[[Pilot[None], str], Awaitable[None]]
OWNERS = (ChatkvApp, ChatScreen, Composer, SessionsScreen, HelpScreen, ConfirmScreen, NameScreen)
CHECKS: dict[str, Check] = {}


def checks(*names: str) -> Callable[[Check], Check]:
    """The decorated function checks the bindings with these ids; it gets each of their keys."""

    def register(check: Check) -> Check:
        CHECKS.update(dict.fromkeys(names, check))
        return check

    return register


def listed() -> list[tuple[str, str]]:
    """(id, key) of every binding that the app makes."""
    return [
        (binding.id or "", binding.key)
        for owner in OWNERS
        for binding in Binding.make_bindings(owner.BINDINGS)
    ]


WHOLE: list[Check] = []
"""Checks that use all of their keys in one go."""


@checks("chat.stop")
async def stop(pilot: Pilot[None], key: str) -> None:
    await send(pilot, "slow one")
    await streaming(pilot)
    await pilot.press(key)
    await idle(pilot)
    assert states(pilot)[-1] == "stopped"


@checks("chat.sessions")
async def sessions(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))


@checks("chat.new")
async def new(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await until(pilot, lambda: not states(pilot))
    await say(pilot, "fresh")
    with Store.open(database_of(pilot), read_only=True) as store:
        assert len(store.list_sessions()) == 2


@checks("chat.regenerate")
async def regenerate(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await idle(pilot)
    await sees(pilot, "Again: You said: hello")


@checks("chat.extend")
async def extend(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "long")
    await pilot.press(key)
    await idle(pilot)
    assert chat_of(pilot).last_answer.endswith(" and the end.")


@checks("chat.edit_last", "composer.recall")
async def edit(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    assert composer(pilot).message == "hello"
    await sees(pilot, "editing your last message")
    await pilot.press("escape")
    assert composer(pilot).message == ""
    await pilot.press(key, "!", "enter")
    await idle(pilot)
    await sees(pilot, "You said: hello!")
    assert states(pilot) == ["complete"]


@checks("chat.copy_answer")
async def copy(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    assert pilot.app.clipboard == "You said: hello"


@checks("chat.sidebar")
async def sidebar(pilot: Pilot[None], key: str) -> None:
    bar = pilot.app.screen.query_one(Sidebar)
    for visible in (False, True):
        await pilot.press(key)
        await pilot.pause()
        assert bar.display is visible


@checks("chat.page_up", "chat.page_down", "chat.top", "chat.end")
async def scroll(pilot: Pilot[None], key: str) -> None:
    for _ in range(3):
        await say(pilot, "code")
    view = transcript(pilot)
    at_end = view.scroll_y
    for wanted, up in (("pageup", True), ("pagedown", False), ("ctrl+home", True), ("ctrl+end", False)):
        before = view.scroll_y
        await pilot.press(wanted)
        await until(pilot, partial(changed, view, before))
        assert (view.scroll_y < before) is up
    assert view.scroll_y == at_end


WHOLE.append(scroll)


@checks("chat.try_again")
async def try_again(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await sees(pilot, "The model process is running.")


@checks("composer.help", "app.help")
async def help_screen(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    await sees(pilot, "Stop the answer")


@checks("composer.submit", "composer.newline")
async def write(pilot: Pilot[None], key: str) -> None:
    await pilot.press("a", "shift+enter", "b", "ctrl+j", "c", "alt+enter", "d")
    assert composer(pilot).message == "a\nb\nc\nd"
    await pilot.press("enter")
    await idle(pilot)
    assert composer(pilot).message == ""
    assert states(pilot) == ["complete", "complete"]


WHOLE.append(write)


@checks("app.quit")
async def leave(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await until(pilot, lambda: not pilot.app.is_running)


@checks("app.interrupt")
async def interrupt(pilot: Pilot[None], key: str) -> None:
    composer(pilot).put("abc")
    await pilot.press("ctrl+a", "shift+right", key)
    assert pilot.app.clipboard == "a"
    await pilot.press("end", key)
    await sees(pilot, "Press Ctrl+C again to quit.")
    assert pilot.app.is_running
    await pilot.press(key)
    await until(pilot, lambda: not pilot.app.is_running)


async def in_sessions(pilot: Pilot[None]) -> OptionList:
    await pilot.press("ctrl+n")
    await say(pilot, "second")
    await pilot.press("ctrl+o")
    await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))
    await sees(pilot, "2 of 2")
    return pilot.app.screen.query_one(OptionList)


@checks("sessions.open")
async def open_session(pilot: Pilot[None], key: str) -> None:
    await in_sessions(pilot)
    await pilot.press("down", "enter")
    await sees(pilot, "You said: hello")
    await say(pilot, "more")
    assert states(pilot) == ["complete", "complete"]


WHOLE.append(open_session)


@checks("sessions.up", "sessions.down", "sessions.pageup", "sessions.pagedown")
async def mark(pilot: Pilot[None], key: str) -> None:
    marked = await in_sessions(pilot)
    for wanted, at in (("pagedown", 1), ("up", 0), ("down", 1), ("pageup", 0)):
        await pilot.press(wanted)
        assert marked.highlighted == at


WHOLE.append(mark)


@checks("sessions.new")
async def new_from_list(pilot: Pilot[None], key: str) -> None:
    await in_sessions(pilot)
    await pilot.press(key)
    await until(pilot, lambda: not states(pilot) and isinstance(pilot.app.screen, ChatScreen))


@checks("sessions.rename", "name.cancel")
async def rename(pilot: Pilot[None], key: str) -> None:
    await in_sessions(pilot)
    for last in ("escape", "enter"):
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(pilot.app.screen, NameScreen))
        pilot.app.screen.query_one(Input).value = "A better name"
        await pilot.press(last)
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))
        assert ("A better name" in shown(pilot)) is (last == "enter")


WHOLE.append(rename)


@checks("sessions.delete", "confirm.yes", "confirm.no")
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


WHOLE.append(delete)


@checks("sessions.close")
async def close_list(pilot: Pilot[None], key: str) -> None:
    await in_sessions(pilot)
    await pilot.press(*"hello")
    await sees(pilot, "1 of 2")
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


@checks("help.close")
async def close_help(pilot: Pilot[None], key: str) -> None:
    await pilot.press("f1")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


@checks("help.up", "help.down", "help.pageup", "help.pagedown")
async def scroll_help(pilot: Pilot[None], key: str) -> None:
    await pilot.press("f1")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    view = pilot.app.screen.query("VerticalScroll").first()
    for wanted, up in (("pagedown", False), ("up", True), ("down", False), ("pageup", True)):
        before = view.scroll_y
        await pilot.press(wanted)
        await until(pilot, partial(changed, view, before))
        assert (view.scroll_y < before) is up


WHOLE.append(scroll_help)


def changed(view: Widget, before: float) -> bool:
    return view.scroll_y != before
