"""One check for every key of the settings, and for the keys that work everywhere."""

from __future__ import annotations

from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from chatkv.tui.app import ChatkvApp
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.settings import SettingList, SettingsScreen
from tui.driving import chat_of, sees, shown, until
from tui.key_checks import checks


async def in_settings(pilot: Pilot[None], words: str = "") -> SettingList:
    """The settings in front, those with these words in the list."""
    await pilot.press("f10")
    await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
    await pilot.press(*words)
    return pilot.app.screen.query_one(SettingList)


@checks("app.settings", "settings.close", whole=True)
async def open_and_close(pilot: Pilot[None], key: str) -> None:
    for closing in ("escape", "f10"):
        await in_settings(pilot)
        await pilot.press(closing)
        await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


@checks("app.palette")
async def palette(pilot: Pilot[None], key: str) -> None:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))


@checks("settings.change", "settings.reset", whole=True)
async def change(pilot: Pilot[None], key: str) -> None:
    await in_settings(pilot, "sidebar")
    await pilot.press("enter")
    await sees(pilot, "off  file", "Saved, and in force.")
    await pilot.press("ctrl+d")
    await sees(pilot, "on  file")
    await pilot.press("escape", *"keep_turns", "enter")
    pilot.app.screen.query_one("#value", Input).value = "5"
    await pilot.press("enter")
    await sees(pilot, "5  file")


@checks("settings.reload")
async def reload(pilot: Pilot[None], key: str) -> None:
    assert isinstance(pilot.app, ChatkvApp)
    link = pilot.app.desk._link
    before = link._client
    await in_settings(pilot)
    await pilot.press(key)
    await sees(pilot, "The model is loaded again.")
    await until(pilot, lambda: link._client is not before and chat_of(pilot).ready)


@checks("settings.up", "settings.down", "settings.pageup", "settings.pagedown", whole=True)
async def mark(pilot: Pilot[None], key: str) -> None:
    await in_settings(pilot)
    for wanted, named in (
        ("down", "load.device ·"),
        ("down", "load.dtype ·"),
        ("up", "load.device ·"),
        ("pagedown", "sampling.top_k ·"),
        ("pageup", "load.device ·"),
        ("pageup", "model ·"),
    ):
        await pilot.press(wanted)
        await sees(pilot, named)
    assert "Which model answers" in shown(pilot)
