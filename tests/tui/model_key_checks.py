"""One check for every key about models: the choice, and the line to write another one."""

from __future__ import annotations

from textual.pilot import Pilot
from textual.widgets import Input

from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.models import ModelScreen, SpecScreen
from tui.driving import chat_of, say, send, until
from tui.key_checks import checks
from tui.model_shelf import choosing


async def answers(pilot: Pilot[None], model: str) -> None:
    """Until this model is loaded and the session open there."""
    held, place = chat_of(pilot).held, chat_of(pilot).place
    await until(pilot, lambda: held.loaded == model and not place.expecting)


@checks("chat.model", "models.close", whole=True)
async def open_and_close(pilot: Pilot[None], key: str) -> None:
    await choosing(pilot)
    await pilot.press("escape")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
    assert chat_of(pilot).held.loaded == "tiny-echo"


@checks("models.other", "spec.cancel", whole=True)
async def write_another(pilot: Pilot[None], key: str) -> None:
    await choosing(pilot)
    for last in ("escape", "enter"):
        await pilot.press("o")
        await until(pilot, lambda: isinstance(pilot.app.screen, SpecScreen))
        pilot.app.screen.query_one(Input).value = "org/written"
        await pilot.press(last)
        wanted = ModelScreen if last == "escape" else ChatScreen
        await until(pilot, lambda wanted=wanted: isinstance(pilot.app.screen, wanted))  # type: ignore[misc]
    await answers(pilot, "org/written")


@checks("models.up", "models.down", "models.choose", whole=True)
async def mark_and_choose(pilot: Pilot[None], key: str) -> None:
    await send(pilot, "/model org/second")
    await answers(pilot, "org/second")
    await say(pilot, "with the second")
    marked = await choosing(pilot)
    for wanted, at in (("up", 0), ("down", 1), ("down", 1), ("up", 0)):
        await pilot.press(wanted)
        assert marked.highlighted == at
    await pilot.press("down", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, SpecScreen))
    await pilot.press("escape", "up", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
    assert chat_of(pilot).held.loaded == "org/second"
