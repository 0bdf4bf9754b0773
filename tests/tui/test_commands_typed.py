"""Every command that is typed for something which a key does too: it does the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from chatkv.store import Store
from chatkv.tui.screens.sessions import SessionsScreen
from chatkv.tui.screens.settings import SettingsScreen
from chatkv.tui.widgets.find_bar import FindBar
from tui.driving import (
    chat_of,
    composer,
    database_of,
    idle,
    make_app,
    ready,
    say,
    sees,
    send,
    states,
    streaming,
    until,
)

SIZE = (110, 32)


def titles(pilot: Pilot[None]) -> list[str]:
    with Store.open(database_of(pilot), read_only=True) as store:
        return [session.title for session in store.list_sessions()]


async def test_commands_about_the_last_turn(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        for nothing in ("/edit", "/copy", "/find boat"):
            await send(pilot, nothing)
            await sees(pilot, "Nothing was said in this session yet.")
            pilot.app.clear_notifications()
        await send(pilot, "/stop")
        await sees(pilot, "Nothing runs.")
        await say(pilot, "hello")
        await send(pilot, "/retry")
        await idle(pilot)
        assert chat_of(pilot).last_answer == "Again: You said: hello"
        await send(pilot, "/copy")
        await until(pilot, lambda: pilot.app.clipboard == "Again: You said: hello")
        await say(pilot, "long")
        await send(pilot, "/continue")
        await idle(pilot)
        assert chat_of(pilot).last_answer.endswith(" and the end.")
        await send(pilot, "/edit")
        await until(pilot, lambda: composer(pilot).message == "long")
        await pilot.press("escape")
        await send(pilot, "slow one")
        await streaming(pilot)
        await send(pilot, "/stop")
        await idle(pilot)
        assert states(pilot)[-1] == "stopped"


async def test_commands_about_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        for early in ("/rename x", "/export"):
            await send(pilot, early)
            await sees(pilot, "This session is not stored yet.")
            pilot.app.clear_notifications()
        await say(pilot, "hello")
        await send(pilot, "/rename A better title")
        assert titles(pilot) == ["A better title"]
        await send(pilot, "/export")
        await sees(pilot, "Written to")
        session = chat_of(pilot).session
        assert "You said: hello" in (tmp_path / f"chatkv-{session}.md").read_text()
        await send(pilot, f"/export {tmp_path / 'all.json'}")
        await until(pilot, (tmp_path / "all.json").exists)
        assert json.loads((tmp_path / "all.json").read_text())
        pilot.app.clear_notifications()
        await send(pilot, "/export")
        await sees(pilot, "already")
        await send(pilot, "/find said")
        await until(pilot, lambda: pilot.app.screen.query_one(FindBar).words == "said")


async def test_commands_about_the_app(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await send(pilot, "/set sampling.top_k 5")
        await sees(pilot, "sampling.top_k = '5'")
        await send(pilot, "/theme nord")
        await until(pilot, lambda: pilot.app.theme == "nord")
        await send(pilot, "/theme no such")
        await sees(pilot, "There is no theme 'no such'")
        await send(pilot, "/theme")
        await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))
        await pilot.press("escape")
        for command, screen in (("/sessions", SessionsScreen), ("/settings", SettingsScreen)):
            await send(pilot, command)
            await until(pilot, lambda screen=screen: isinstance(pilot.app.screen, screen))  # type: ignore[misc]
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen.query("Composer").first() is composer(pilot))
        await send(pilot, "/quit")
        await until(pilot, lambda: not pilot.app.is_running)
