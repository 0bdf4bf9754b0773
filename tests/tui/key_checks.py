"""One check for every key of the app: press it in a running app and see that it does what its tooltip says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from textual.binding import Binding
from textual.pilot import Pilot
from textual.widget import Widget

from chatkv.store import Store
from chatkv.tui.app import ChatkvApp
from chatkv.tui.screens.ask import ConfirmScreen, NameScreen
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.events import EventsScreen
from chatkv.tui.screens.help import HelpScreen
from chatkv.tui.screens.models import ModelScreen, SpecScreen
from chatkv.tui.screens.overlong import OverlongScreen
from chatkv.tui.screens.sessions import SessionsScreen
from chatkv.tui.screens.settings import SettingsScreen
from chatkv.tui.screens.summary import SummaryScreen
from chatkv.tui.widgets.find_bar import FindInput
from chatkv.tui.widgets.memory.sidebar import Sidebar
from chatkv.tui.widgets.talk.turn import TurnView
from chatkv.tui.widgets.writing.composer import Composer
from tui.driving import (
    chat_of,
    composer,
    database_of,
    idle,
    say,
    sees,
    send,
    states,
    streaming,
    transcript,
    until,
)

Check = Callable[[Pilot[None], str], Awaitable[None]]
OWNERS = (
    *(ChatkvApp, ChatScreen, Composer, SessionsScreen, HelpScreen, ConfirmScreen, NameScreen),
    *(SummaryScreen, OverlongScreen, ModelScreen, SpecScreen, SettingsScreen, TurnView, FindInput),
    EventsScreen,
)
CHECKS: dict[str, Check] = {}
WHOLE: list[Check] = []


def checks(*names: str, whole: bool = False) -> Callable[[Check], Check]:
    """The decorated function checks the bindings with these ids; it gets each of their keys in an app of its own, or
    (`whole`) presses all of them itself."""

    def register(check: Check) -> Check:
        CHECKS.update(dict.fromkeys(names, check))
        if whole:
            WHOLE.append(check)
        return check

    return register


def listed() -> list[tuple[str, str]]:
    """(id, key) of every binding that the app makes."""
    return [
        (binding.id or "", binding.key)
        for owner in OWNERS
        for binding in Binding.make_bindings(owner.BINDINGS)
    ]


def changed(view: Widget, before: float) -> bool:
    return view.scroll_y != before


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


@checks("chat.edit")
async def edit(pilot: Pilot[None], key: str) -> None:
    composer(pilot).put("a draft")
    await pilot.press(key)
    assert composer(pilot).message == "hello"
    await sees(pilot, "editing your last message")
    await pilot.press("escape")
    assert composer(pilot).message == "a draft"
    await pilot.press(key, "!", "enter")
    await idle(pilot)
    await sees(pilot, "You said: hello!")
    assert states(pilot) == ["complete"]
    assert composer(pilot).message == "a draft"


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


@checks("chat.page_up", "chat.page_down", "chat.top", "chat.end", whole=True)
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


@checks("chat.try_again")
async def try_again(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await sees(pilot, "The model process is running.")


@checks("composer.help", "app.help", whole=True)
async def help_screen(pilot: Pilot[None], key: str) -> None:
    for wanted in ("question_mark", "f1"):
        await pilot.press(wanted)
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await sees(pilot, "Stop the answer")
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


@checks("composer.submit", "composer.newline", whole=True)
async def write(pilot: Pilot[None], key: str) -> None:
    await pilot.press("a", "shift+enter", "b", "ctrl+j", "c", "alt+enter", "d")
    assert composer(pilot).message == "a\nb\nc\nd"
    await pilot.press("enter")
    await idle(pilot)
    assert composer(pilot).message == ""
    assert states(pilot) == ["complete", "complete"]


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
