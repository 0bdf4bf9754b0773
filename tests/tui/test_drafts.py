"""What is written and not sent is told to the worker when typing rests, and kept per session over everything."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from chatkv.errors import StoreError
from chatkv.protocol import Count, Draft
from chatkv.store import Store
from chatkv.tui.app import ChatkvApp
from chatkv.tui.behind.library import Library
from chatkv.tui.talk.exchange import Issue, Update
from chatkv.tui.writing import drafts
from chatkv.tui.writing.written import Written
from tui.driving import (
    chat_of,
    composer,
    database_of,
    idle,
    make_app,
    places,
    ready,
    release,
    say,
    send,
    streaming,
    until,
)

SIZE = (110, 32)
LONG = "line\r\n" * 200


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "KEEP_S", 0.01)
    monkeypatch.setattr(drafts, "REST_S", 0.01)


def app_of(pilot: Pilot[None]) -> ChatkvApp:
    assert isinstance(pilot.app, ChatkvApp)
    return pilot.app


def kept(folder: Path, session: str | None) -> str:
    with Store.open(places(folder).database) as store:
        found = store.draft(session)
    return found.text if found else ""


async def test_a_draft_stays_with_its_session_over_switching_and_a_restart(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        session = chat_of(pilot).session
        composer(pilot).post_message(events.Paste(LONG))
        await until(pilot, lambda: "⟦paste 1" in composer(pilot).text)
        await pilot.press(*"mine")
        await until(pilot, lambda: kept(tmp_path, session) == f"{LONG}mine")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: composer(pilot).message == "")
        await pilot.press(*"new one")
        app_of(pilot).desk.open(session or "")
        await until(pilot, lambda: composer(pilot).message == f"{LONG}mine")
        assert "⟦paste 1" in composer(pilot).text
        await pilot.press("ctrl+n")
        await until(pilot, lambda: composer(pilot).message == "new one")
        await pilot.press("!")
    assert kept(tmp_path, None) == "new one!"
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await until(pilot, lambda: composer(pilot).message == "new one!")
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await until(pilot, lambda: composer(pilot).message == f"{LONG}mine")
        await ready(pilot)
        await pilot.press("enter")
        await idle(pilot)
        assert composer(pilot).message == ""
        await until(pilot, lambda: kept(tmp_path, session) == "")
    assert kept(tmp_path, None) == "new one!"


async def test_what_is_written_goes_along_when_a_session_gets_its_name(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "slow one")
        await streaming(pilot)
        await pilot.press(*"next")
        session = chat_of(pilot).session
        await until(pilot, lambda: kept(tmp_path, session) == "next")
        assert kept(tmp_path, None) == ""
        release(pilot)
        await idle(pilot)
    assert kept(tmp_path, session) == "next"


async def test_what_waits_behind_an_answer_is_kept_when_the_session_is_left(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "slow one")
        await streaming(pilot)
        session = chat_of(pilot).session
        await send(pilot, "queued")
        await pilot.press(*"half", "ctrl+n")
        await until(pilot, lambda: composer(pilot).message == "")
        await until(pilot, lambda: kept(tmp_path, session) == "queued\n\nhalf")


async def test_what_waits_is_kept_when_the_app_ends(tmp_path: Path) -> None:
    async with make_app(tmp_path, "--hold").run_test(size=SIZE) as pilot:
        await send(pilot, "//help")
        await pilot.press(*"and")
    assert kept(tmp_path, None) == "//help\n\nand"


async def test_an_edit_is_no_draft(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await pilot.press(*"mine", "f3", "x")
        assert composer(pilot).message == "hellox"
        await until(pilot, lambda: kept(tmp_path, chat_of(pilot).session) == "mine")
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await until(pilot, lambda: composer(pilot).message == "mine")


async def test_what_is_typed_before_a_draft_was_found_wins_and_the_draft_is_one_step_up(
    tmp_path: Path,
) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press(*"typed")
        composer(pilot).restore(Written("found"))
        assert composer(pilot).message == "typed"
        await pilot.press("up")
        assert composer(pilot).message == "found"
        await pilot.press("down")
        assert composer(pilot).message == "typed"


async def test_where_nothing_can_be_written_drafts_stay_for_as_long_as_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Library, session: str | None, written: Written) -> bool:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(Library, "keep_draft", refuse)
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        session = chat_of(pilot).session
        await pilot.press(*"mine", "ctrl+n")
        await until(pilot, lambda: composer(pilot).message == "")
        app_of(pilot).desk.open(session or "")
        await until(pilot, lambda: composer(pilot).message == "mine")
        assert not pilot.app._notifications
    assert kept(tmp_path, session) == ""


async def test_only_the_newest_text_is_told_and_nothing_stale_after_it_is_sent(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        desk = app_of(pilot).desk
        told: list[str] = []
        do = desk.do

        def listen(updates: list[Update]) -> None:
            for update in updates:
                if isinstance(update, Issue) and isinstance(update.command, Draft | Count):
                    told.append(update.command.text)
            do(updates)

        desk.drafts._do = listen
        await pilot.press(*"hello")
        await until(pilot, lambda: told[-1:] == ["hello"])
        assert all("hello".startswith(text) for text in told)
        await pilot.press("enter")
        await idle(pilot)
        await until(pilot, lambda: told[-1:] == [""])
        assert [text for text in told[told.index("hello") :] if text] == ["hello"] * told.count("hello")
        await pilot.press("slash", *"compact")
        await until(pilot, lambda: not desk.drafts._changed.is_set())
        assert told[-1] == ""
        await pilot.press(*["backspace"] * 8, "f3", "!")
        await until(pilot, lambda: told[-1] == "hello!")
        assert desk.drafts._told == "", "an edited message is counted, not prefilled"
        with Store.open(database_of(pilot), read_only=True) as store:
            assert [asked.text for asked in store.asked(9)] == ["hello"]


async def test_what_is_typed_before_a_session_is_resumed_goes_with_it(tmp_path: Path) -> None:
    with Store.open(places(tmp_path).database) as store:
        session = store.create_session("tiny-echo").id
        store.set_draft(None, "of a new session")
    app = make_app(tmp_path, resume="last")
    async with app.run_test(size=SIZE) as pilot:
        composer(pilot).insert("typed early")
        await ready(pilot)
        await until(pilot, lambda: kept(tmp_path, session) == "typed early")
        assert composer(pilot).message == "typed early"
    assert kept(tmp_path, None) == "of a new session"
