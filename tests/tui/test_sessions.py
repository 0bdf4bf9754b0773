"""The list of sessions: titles by page, messages by their words, a preview, and the way to a found message."""

from __future__ import annotations

import time
from pathlib import Path

from textual.pilot import Pilot

from chatkv.store import Store
from chatkv.tui.behind.library import StoredHit, StoredSession
from chatkv.tui.behind.listing import Choice, Heading, choice, fitting, rows
from chatkv.tui.screens.sessions import SessionsScreen
from chatkv.tui.widgets.session_list import SessionList
from chatkv.tui.widgets.session_rows import content
from tui.driving import chat_of, make_app, places, ready, sees, shown, states, transcript, until
from tui.test_branches import forked

SIZE = (120, 34)


def session(n: int, title: str = "") -> StoredSession:
    return StoredSession(f"id{n}", title or f"title {n}", "m", 0.0, 2)


def hit(n: int, message_id: int | None = 1) -> StoredHit:
    return StoredHit(f"id{n}", f"title {n}", message_id, True, "a needle here", ((2, 8),), 0.0)


def test_titles_stand_above_messages_and_are_not_said_twice() -> None:
    titles = [session(n) for n in range(30)]
    shown_rows = rows(titles, [hit(1), hit(2, None), hit(90, None)], "title")
    assert shown_rows[:20] == titles[:20]
    assert shown_rows[20:] == [
        Heading("… 10 more titles fit: type more"),
        Heading("In the conversations"),
        hit(1),
        hit(90, None),
    ]
    assert [choice(row) for row in shown_rows[-2:]] == [Choice("id1", 1), Choice("id90")]
    assert rows(titles, [hit(1)], " ") == titles


def test_a_title_fits_by_all_words_in_any_case() -> None:
    kept = [session(1, "Bread and Ölpaste"), session(2, "bread")]
    assert fitting(kept, "öLP bread") == kept[:1]


def test_matches_are_marked_where_they_are_and_nothing_in_a_snippet_is_obeyed() -> None:
    snippet = "a\tneedle\x1b[31m [bold]x"
    line = content(StoredHit("s", "t", 1, False, snippet, ((2, 8),), 0.0), None, 0.0)
    assert line.plain.splitlines()[0] == "  a needle␛[31m [bold]x"
    assert [(span.start, span.end) for span in line.spans if "bold" in str(span.style)] == [(4, 10)]


def shelf(folder: Path, n_sessions: int) -> None:
    """Many sessions with a title and no message."""
    with Store.open(places(folder).database) as store:
        store._connection.execute("PRAGMA synchronous = OFF")
        for n in range(n_sessions):
            store.create_session("tiny-echo", f"session {n:05} about bread")


async def opened(pilot: Pilot[None]) -> SessionList:
    await ready(pilot)
    await pilot.press("ctrl+o")
    await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))
    return pilot.app.screen.query_one(SessionList)


async def test_thousands_of_sessions_come_by_page_and_all_can_be_reached(tmp_path: Path) -> None:
    shelf(tmp_path, 3000)
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        marked = await opened(pilot)
        await sees(pilot, "3,000 of 3,000")
        assert marked.option_count < 200
        for _ in range(40):
            await pilot.press("pagedown")
        assert marked.highlighted == 320
        assert marked.option_count < 500
        await pilot.press(*"00007")
        await sees(pilot, "1 of 3,000", "session 00007")


def found(folder: Path) -> None:
    forked(folder)
    with Store.open(places(folder).database) as store:
        talk, leaf = store.create_session("tiny-echo", "A long talk"), None
        for n in range(1, 121):
            text = "the needle in the hay" if n == 7 else f"question {n}"
            _, answer = store.add_exchange(talk.id, leaf, text, n, "tiny-echo")
            store.update_answer(
                answer.id, text=f"reply {n}", thought="", ids=(), answer_start=0, status="complete"
            )
            leaf = answer.id


async def test_a_found_message_is_previewed_and_opened_at_its_place(tmp_path: Path) -> None:
    found(tmp_path)
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press(*"needle")
        await sees(pilot, "In the conversations", "▌ the needle in the hay", "reply 7")
        await pilot.press("enter")
        await sees(pilot, "the needle in the hay", "reply 7")
        assert "reply 120" not in shown(pilot)
        marked = chat_of(pilot).branches.turn
        assert marked is not None
        assert marked.turn == 7
        await pilot.press("ctrl+end")
        await sees(pilot, "reply 120")


async def test_a_message_on_another_branch_is_opened_there(tmp_path: Path) -> None:
    found(tmp_path)
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press(*"below")
        await sees(pilot, "below one")
        await pilot.press("enter")
        await sees(pilot, "below one", "‹ 1/3 › answers")
        await until(pilot, lambda: not chat_of(pilot).place.expecting)
        assert (states(pilot), chat_of(pilot).title) == (["complete", "complete"], "forked")
    with Store.open(places(tmp_path).database, read_only=True) as store:
        branch = store.path(store.resolve(chat_of(pilot).session or "").leaf_id)
        assert [message.text for message in branch][2] == "below one"


async def test_a_message_on_another_branch_is_opened_before_there_is_a_model(tmp_path: Path) -> None:
    found(tmp_path)
    async with make_app(tmp_path, "--hold").run_test(size=SIZE) as pilot:
        await sees(pilot, "96 of 272 tensors")
        await pilot.press("ctrl+o", *"below")
        await sees(pilot, "In the conversations")
        await pilot.press("enter")
        await sees(pilot, "below one", "‹ 1/3 › answers")
        assert len(transcript(pilot).query("TurnView")) == 2


async def test_typing_never_waits_for_a_search(tmp_path: Path) -> None:
    found(tmp_path)
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await opened(pilot)
        await sees(pilot, "2 of 2")
        app = pilot.app
        blocked = app.desk.reader.ask(lambda library: time.sleep(1.5))  # type: ignore[attr-defined]
        pending = app.run_worker(blocked)
        began = time.monotonic()
        await pilot.press(*"needle")
        await sees(pilot, "needle")
        assert not pending.is_finished, f"typing took {time.monotonic() - began:.1f} s"
        await sees(pilot, "In the conversations")
