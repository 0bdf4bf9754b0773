"""A conversation whose database fails: it goes on, says so, and is saved when it can be."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
import troubles
from hosting import Chat, finishes

from chatkv.protocol import (
    Edit,
    Keep,
    Marks,
    New,
    Notice,
    Open,
    Opened,
    Regenerate,
    Saving,
    Send,
    Turn,
)
from chatkv.store import Store

TROUBLES = [trouble for trouble in troubles.ALL if trouble is not troubles.emptied]


pytestmark = pytest.mark.usefixtures("impatient")


@pytest.mark.parametrize(
    ("trouble", "moment"),
    [
        *[(trouble, moment) for trouble in TROUBLES for moment in ("before a send", "in an answer")],
        *[(trouble, "between turns") for trouble in (troubles.deleted, troubles.renamed, troubles.locked)],
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_the_chat_goes_on_and_all_of_it_is_saved_when_it_can_be(
    trouble: troubles.Trouble, moment: str, chat: Chat
) -> None:
    texts = ["the boats", "and then?"]
    chat.do(Send("hello"))
    with ExitStack() as now:
        if moment == "in an answer":
            chat.at_delta = lambda: now.enter_context(trouble(chat.file, chat.host.store))
        else:
            now.enter_context(trouble(chat.file, chat.host.store))
        if moment == "between turns":
            chat.wait()
        for text in texts:
            assert finishes(chat.do(Send(text))) == ["length"]
            chat.do(Keep("the boats " * 1000))
        assert chat.saving() == [False]
        (told,) = [event.reason for event in chat.events if isinstance(event, Saving)]
        assert str(chat.file) in told
    chat.wait()
    assert chat.saving() == [False, True]
    assert finishes(chat.do(Send("last"))) == ["length"]
    assert chat.saving() == [False, True]
    assert finishes(chat.do(Regenerate())) == ["length"]
    stored = chat.stored()
    assert [text for text, _ in stored[::2]] == ["hello", *texts, "last"]
    told_last = [text for text in chat.told() if text]
    assert [text for text, _ in stored[1::2]] == [*told_last[:3], told_last[-1]]
    assert {status for _, status in stored[1::2]} == {"length"}


def test_the_session_is_led_to_new_ids_and_its_kv_stays(chat: Chat) -> None:
    chat.do(Send("hello"))
    with troubles.replaced(chat.file, chat.host.store):
        chat.do(Send("there"))
    session = chat.host.session.record
    start = len(chat.events)
    chat.wait()
    told = chat.events[start:]
    opened = next(event for event in told if isinstance(event, Opened))
    marks = next(event for event in told if isinstance(event, Marks))
    assert session is not None
    assert (opened.session, opened.writer) == (session.id, 0)
    first = marks.turns[0].user_id
    with Store.open(chat.file) as store:
        assert store.message(first).text == "hello"
        assert store.message(first).session_id == session.id
        assert store.session(session.id).leaf_id == opened.leaf_id
    (turn,) = [event for event in chat.do(Send("again")) if isinstance(event, Turn)]
    assert turn.reused > 0
    assert turn.prefilled < 40
    (turn,) = [event for event in chat.do(Edit(first, "hallo")) if isinstance(event, Turn)]
    assert turn.turn == 1
    with Store.open(chat.file) as store:
        assert [session.title for session in store.list_sessions()] == ["hello", "another one"]
        assert len(store.path(store.resolve("last").leaf_id)) == 2


def test_another_version_in_the_file_is_left_and_ours_is_saved_beside_it(chat: Chat) -> None:
    chat.do(Send("hello"))
    (old,) = [event.session for event in chat.events if isinstance(event, Opened)]
    with troubles.renamed_and_back(chat.file, chat.host.store):
        chat.do(Send("here"))
        with Store.open(chat.file.with_name("aside.db")) as store:
            store.add_message(old, store.session(old).leaf_id, "user", "there", turn=2)
    start = len(chat.events)
    chat.wait()
    opened = next(event for event in chat.events[start:] if isinstance(event, Opened))
    assert opened.session != old
    assert any("another version" in event.text for event in chat.events if isinstance(event, Notice))
    assert finishes(chat.do(Send("goes on"))) == ["length"]
    with Store.open(chat.file) as store:
        ours, theirs = (store.path(store.session(session).leaf_id) for session in (opened.session, old))
        assert [message.text for message in ours if message.role == "user"] == ["hello", "here", "goes on"]
        assert [message.text for message in theirs if message.role == "user"] == ["hello", "there"]


def test_a_new_session_and_an_old_one_can_be_opened_meanwhile(chat: Chat) -> None:
    chat.do(Send("first"))
    (first,) = [event.session for event in chat.events if isinstance(event, Opened)]
    chat.do(New())
    chat.do(Send("second"))
    with troubles.locked(chat.file, chat.host.store):
        chat.do(Send("second again"))
        chat.do(Open(first))
        chat.do(Send("first again"))
        chat.do(New(carry=True))
        chat.do(Send("third"))
    chat.wait()
    assert chat.saving() == [False, True]
    with Store.open(chat.file) as store:
        sessions = {session.title: session for session in store.list_sessions()}
        assert {title: session.n_messages for title, session in sessions.items()} == {
            "first": 4,
            "second": 4,
            "third": 2,
        }
        assert sessions["third"].carried_from == first


def test_what_cannot_be_saved_in_the_end_is_told(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "home")
    chat.do(Send("hello"))
    with troubles.locked(chat.file, chat.host.store):
        chat.do(Send("there"))
        chat.host.close()
    notice = chat.events[-1]
    assert isinstance(notice, Notice)
    rescued = next(tmp_path.joinpath("home").glob("chatkv-unsaved-*.db"))
    assert f"`chatkv --db {rescued}`" in notice.text
    with Store.open(rescued) as store:
        assert [m.text for m in store.path(store.resolve("last").leaf_id)][::2] == ["hello", "there"]
