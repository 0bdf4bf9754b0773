"""Drives the app in tests: a real worker process with scripted answers, a real store, fixed clocks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from chatkv.config import Config, UiConfig
from chatkv.paths import Paths
from chatkv.protocol import Stats
from chatkv.tui.app import ChatkvApp
from chatkv.tui.behind.room import NO_ROOM, Room
from chatkv.tui.talk.conversation import Conversation
from chatkv.tui.talk.exchange import Issue
from chatkv.tui.widgets.talk.transcript import Transcript
from chatkv.tui.widgets.talk.turn import TurnView
from chatkv.tui.widgets.writing.composer import Composer
from tui.fake_forks import fake_worker
from tui.fake_lines import MODEL

NOON = 1_790_000_000.0
PATIENCE_S = 20.0
_POLL_S = 0.015
_DRAWN_S = 0.12
"""Longer than a frame of text and a frame of gauges."""
_SAME_FRAMES = 3


def places(folder: Path) -> Paths:
    """Everything under a temporary folder."""
    return Paths(folder / "config.toml", folder / "chatkv.db", folder / "models", folder / "worker.log")


def make_app(
    folder: Path,
    *flags: str,
    resume: str | None = None,
    theme: str = "chatkv",
    sidebar: bool = True,
    model: str = MODEL,
    model_typed: bool = False,
    clock: Callable[[], float] = lambda: 0.0,
    room: Room = NO_ROOM,
) -> ChatkvApp:
    """The app with a fake worker (`flags` are its own) and clocks that stand still."""
    paths = places(folder)
    argv = fake_worker("--db", str(paths.database), "--model", model, *flags)
    config = Config(model=model, ui=UiConfig(theme=theme, sidebar=sidebar))
    return ChatkvApp(
        config,
        paths,
        open_session=resume,
        model_typed=model_typed,
        worker_argv=argv,
        hub_cache=folder / "hub",
        room=lambda gauges: asyncio.sleep(0, room),
        clock=clock,
        now=lambda: NOON + 60.0,
    )


def chat_of(pilot: Pilot[None]) -> Conversation:
    """The conversation behind the screen."""
    app = pilot.app
    assert isinstance(app, ChatkvApp)
    return app.desk.conversation


def database_of(pilot: Pilot[None]) -> Path:
    """The file with all sessions."""
    app = pilot.app
    assert isinstance(app, ChatkvApp)
    return app.desk.library.database


def prompts(pilot: Pilot[None]) -> list[str]:
    """What was asked, turn by turn."""
    return [turn.prompt for turn in chat_of(pilot).board.turns]


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Let the app run until `holds`; fail if it never does."""
    give_up_at, looked_at = time.monotonic() + PATIENCE_S, time.process_time()
    while not holds():
        assert time.monotonic() < give_up_at, "what was waited for never came"
        # A look at the whole screen costs about as much as drawing it: most of the time is the app's.
        await asyncio.sleep(max(_POLL_S, 2 * (time.process_time() - looked_at)))
        looked_at = time.process_time()
    await pilot.pause()


async def sees(pilot: Pilot[None], *texts: str) -> None:
    """Until all of these are on the screen."""

    def seen() -> bool:
        screen = shown(pilot)
        return all(text in screen for text in texts)

    try:
        await until(pilot, seen)
    except AssertionError as error:
        error.add_note(f"{texts} on\n{shown(pilot)}")
        raise


async def drawn(pilot: Pilot[None]) -> None:
    """Until text and figures that have come are drawn."""
    await pilot.pause(_DRAWN_S)


async def settled(pilot: Pilot[None]) -> None:
    """Until the screen has stayed the same for a while, however slow the machine is."""
    give_up_at, seen = time.monotonic() + PATIENCE_S, [""]
    while len(seen) < _SAME_FRAMES or len(set(seen[-_SAME_FRAMES:])) > 1:
        assert time.monotonic() < give_up_at, "the screen never came to rest"
        await drawn(pilot)
        seen.append(shown(pilot))


async def ready(pilot: Pilot[None]) -> None:
    """Until the model answers."""
    pilot.app.screen.query_one(Composer).cursor_blink = False
    await until(pilot, lambda: chat_of(pilot).ready)


async def send(pilot: Pilot[None], text: str) -> None:
    """Write `text` and press Enter."""
    composer(pilot).put(text)
    await pilot.press("enter")


async def say(pilot: Pilot[None], text: str) -> None:
    """Send `text` and wait until its turn is over."""
    await send(pilot, text)
    await idle(pilot)


async def idle(pilot: Pilot[None]) -> None:
    """Until nothing runs or waits."""
    chat = chat_of(pilot)
    await until(pilot, lambda: not chat.busy and not chat.board.queue)


async def streaming(pilot: Pilot[None]) -> None:
    """Until the running answer has text, and no more comes for now."""
    chat = chat_of(pilot)
    await until(pilot, lambda: bool(chat.board.last and chat.board.last.state == "streaming"))


def release(pilot: Pilot[None]) -> None:
    """Let a waiting answer of the fake worker go on."""
    app = pilot.app
    assert isinstance(app, ChatkvApp)
    app.desk.do([Issue(Stats())])


def composer(pilot: Pilot[None]) -> Composer:
    """Where one writes."""
    app = pilot.app
    assert isinstance(app, ChatkvApp)
    return app.chat.query_one(Composer)


def transcript(pilot: Pilot[None]) -> Transcript:
    """Where one reads."""
    app = pilot.app
    assert isinstance(app, ChatkvApp)
    return app.chat.query_one(Transcript)


def states(pilot: Pilot[None]) -> list[str]:
    """How each turn on the screen stands."""
    return [view.exchange.state for view in transcript(pilot).query(TurnView)]


def shown(pilot: Pilot[None]) -> str:
    """All text on the screen, line by line."""
    screen = pilot.app.screen
    width, height = pilot.app.size
    strips = screen._compositor.render_strips(pilot.app.size)
    lines = ["".join(segment.text for segment in strip) for strip in strips[:height]]
    return "\n".join(line[:width].rstrip() for line in lines)
