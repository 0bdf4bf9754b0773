"""One check for every key that memory has: completion, the summary in front, the question about long messages."""

from __future__ import annotations

from functools import partial

from textual.pilot import Pilot
from textual.widgets import TextArea

from chatkv.tui.app import ChatkvApp
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.events import EventsScreen
from chatkv.tui.screens.overlong import OverlongScreen
from chatkv.tui.screens.summary import SummaryScreen
from chatkv.tui.widgets.memory.event_log import EventLog
from tui.driving import chat_of, composer, idle, say, sees, send, states, until
from tui.key_checks import checks

HUGE = "huge text that fits nowhere"


@checks("composer.complete")
async def complete(pilot: Pilot[None], key: str) -> None:
    await pilot.press("slash", "u", key, "1")
    assert composer(pilot).message == "/unpin 1"
    await say(pilot, "think")
    composer(pilot).put("no command")
    await pilot.press(key)
    assert composer(pilot).message == "no command"


async def in_summary(pilot: Pilot[None]) -> TextArea:
    await say(pilot, "second")
    await send(pilot, "/compact")
    await sees(pilot, "▿ summarized · 1")
    await send(pilot, "/summary")
    await until(pilot, lambda: isinstance(pilot.app.screen, SummaryScreen))
    await sees(pilot, "The person said 1 things.", "stands for turn 1")
    return pilot.app.screen.query_one(TextArea)


@checks("summary.save", "summary.undo", whole=True)
async def save_and_undo(pilot: Pilot[None], key: str) -> None:
    area = await in_summary(pilot)
    await pilot.press(*"XY ", "ctrl+s")
    await sees(pilot, "edited by you")
    assert chat_of(pilot).memory.summary.text == "XY The person said 1 things."
    await pilot.press("ctrl+r")
    await sees(pilot, "written by the model")
    assert area.text == "The person said 1 things."


@checks("summary.close")
async def close_summary(pilot: Pilot[None], key: str) -> None:
    await in_summary(pilot)
    await pilot.press("X", key)
    await sees(pilot, "Esc again drops your changes")
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
    assert chat_of(pilot).memory.summary.text == "The person said 1 things."


async def asked(pilot: Pilot[None]) -> None:
    await send(pilot, HUGE)
    await until(pilot, lambda: isinstance(pilot.app.screen, OverlongScreen))
    await sees(pilot, "9,000 tokens", "1 line, 27 B")


@checks("overlong.head")
async def send_head(pilot: Pilot[None], key: str) -> None:
    await asked(pilot)
    await pilot.press(key)
    await idle(pilot)
    await sees(pilot, "You said: huge text")
    assert composer(pilot).message == ""


@checks("overlong.document")
async def keep_document(pilot: Pilot[None], key: str) -> None:
    await asked(pilot)
    await pilot.press(key)
    await sees(pilot, "Kept the text as a document")
    assert (states(pilot), composer(pilot).message) == (["complete"], "")


@checks("overlong.back", whole=True)
async def write_on(pilot: Pilot[None], key: str) -> None:
    for wanted in ("escape", "enter"):
        await asked(pilot)
        await pilot.press(wanted)
        await until(pilot, lambda: composer(pilot).message == HUGE)
        composer(pilot).put("")
    assert states(pilot) == ["complete"]


@checks(
    "chat.events",
    "events.close",
    "events.up",
    "events.down",
    "events.page_up",
    "events.page_down",
    whole=True,
)
async def list_events(pilot: Pilot[None], key: str) -> None:
    for n in range(60):
        app_of(pilot).desk._meter.note(f"number {n} happened")
    for wanted in ("escape", "f12"):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(pilot.app.screen, EventsScreen))
        await sees(pilot, "60 events, the newest first", "number 59 happened")
        log = pilot.app.screen.query_one(EventLog)
        for down, up in (("down", "up"), ("j", "k"), ("pagedown", "pageup")):
            await pilot.press(down)
            await until(pilot, partial(scrolled, log, True))
            await pilot.press(up)
            await until(pilot, partial(scrolled, log, False))
        await pilot.press(wanted)
        await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


def scrolled(log: EventLog, down: bool) -> bool:
    return (log.scroll_offset.y > 0) is down


def app_of(pilot: Pilot[None]) -> ChatkvApp:
    assert isinstance(pilot.app, ChatkvApp)
    return pilot.app
