"""A session that another process has open: what can be read, what is refused, and when it is ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from hosting import Chat, finishes

from chatkv.errors import StoreError
from chatkv.protocol import (
    Command,
    Compact,
    Continue,
    Edit,
    Fork,
    Keep,
    Marks,
    New,
    Open,
    Opened,
    Pin,
    Recall,
    Regenerate,
    Send,
    Stats,
    Summarized,
    Summary,
    Switch,
    Unpin,
)
from chatkv.store import Store

pytestmark = pytest.mark.usefixtures("impatient")


@contextmanager
def other_process() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A living process, and its name as an owner."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        yield process, f"{process.pid}:{psutil.Process(process.pid).create_time():.2f}"
    finally:
        process.kill()
        process.communicate()


CHANGES: tuple[Command, ...] = (
    Send("no"),
    Regenerate(),
    Continue(),
    Edit(1, "no"),
    Fork(2),
    Switch(2),
    Compact(),
    Pin(1),
    Unpin(1),
    Keep("no"),
    Summary("no"),
    Summary(undo=True),
)


def test_a_session_of_another_process_is_read_until_that_is_gone(chat: Chat) -> None:
    chat.do(Send("hello"))
    (session,) = [event.session for event in chat.events if isinstance(event, Opened)]
    chat.do(New())
    with other_process() as (process, owner), Store.open(chat.file) as theirs:
        theirs.claim(session, owner)
        (opened,) = [event for event in chat.do(Open(session)) if isinstance(event, Opened)]
        assert (opened.session, opened.writer) == (session, process.pid)
        before = theirs.whole(session)
        for command in CHANGES:
            with pytest.raises(StoreError, match=f"pid {process.pid}.*Close it there"):
                chat.do(command)
        assert isinstance(chat.do(Summary())[0], Summarized)
        assert chat.do(Recall("boats"))
        assert chat.do(Stats())
        assert not chat.host.has_idle_work
        assert theirs.whole(session) == before
        assert theirs.holder(session) == owner
        theirs.add_exchange(session, theirs.session(session).leaf_id, "said there", 2, "m")
    events = chat.do(Send("mine now"))
    again, marks, *_ = events
    assert isinstance(again, Opened)
    assert (again.session, again.writer) == (session, 0)
    assert isinstance(marks, Marks)
    assert len(marks.turns) == 2
    assert finishes(events) == ["length"]
    stored = chat.stored()
    assert [text for text, _ in stored[::2]] == ["hello", "said there", "mine now"]
    assert stored[3] == ("", "partial")
    with Store.open(chat.file) as store:
        assert store.holder(session) is not None


def test_leaving_a_session_that_was_only_read_keeps_the_others_claim(chat: Chat) -> None:
    chat.do(Send("hello"))
    (session,) = [event.session for event in chat.events if isinstance(event, Opened)]
    chat.do(New())
    with other_process() as (_, owner), Store.open(chat.file) as theirs:
        theirs.claim(session, owner)
        chat.do(Open(session))
        chat.do(New())
        assert theirs.holder(session) == owner
        assert finishes(chat.do(Send("elsewhere"))) == ["length"]


def test_a_message_stopped_by_the_end_of_all_stays_and_one_stopped_by_hand_does_not(chat: Chat) -> None:
    chat.do(Send("hello"))
    chat.do(Send("never mind"), stopped=True)
    chat.do(Stats())
    assert [text for text, _ in chat.stored()[::2]] == ["hello"]
    chat.do(Send("and this?"), stopped=True)
    chat.host.custody.keep_unanswered()
    assert [text for text, _ in chat.stored()[::2]] == ["hello", "and this?"]
    assert chat.stored()[-1] == ("", "stopped")
