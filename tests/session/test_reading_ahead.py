"""What a recall has to read of a long conversation is read when idle: no message waits for it."""

from __future__ import annotations

import pytest
from hosting import Chat

from chatkv.errors import StoreError
from chatkv.memory.recall import Archive, Passage
from chatkv.memory.recall.index import Index
from chatkv.protocol import Compact, Event, Idle, New, Open, Recall, Recalled, Send, Set
from chatkv.session import recollection


def rest(chat: Chat) -> list[str]:
    """What idle time was spent on, until there is nothing to do."""
    start = len(chat.events)
    while chat.host.has_idle_work:
        chat.host.idle_step()
    return [event.work for event in chat.events[start:] if isinstance(event, Idle)]


def recalled(events: list[Event]) -> str:
    return "".join(found.text for event in events if isinstance(event, Recalled) for found in event.rounds)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The turns of what recall reads, in the order it does."""
    turns: list[int] = []
    add = Index._add

    def note(index: Index, passage: Passage) -> list[int]:
        turns.append(passage.turn)
        return add(index, passage)

    monkeypatch.setattr(Index, "_add", note)
    return turns


@pytest.fixture
def talk(chat: Chat) -> Chat:
    """A conversation of eight turns of which the last two are in the context, opened anew."""
    for n in range(8):
        chat.do(Send(f"Fact {n}: the harbour of Lisbon has {n * 37} boats in it."))
    chat.do(Set("memory.keep_turns", 2))
    chat.do(Compact())
    record = chat.host.session.record
    assert record is not None
    chat.do(New())
    chat.do(Open(record.id))
    return chat


def test_it_is_read_a_little_at_a_time_and_once(
    talk: Chat, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recollection, "_READ_AT_ONCE", 5)
    works = rest(talk)
    assert "indexing" in works
    assert works[-1] == ""
    assert read == [turn for turn in range(1, 9) for _ in range(2)]
    assert "the harbour of Lisbon has 74 boats" in recalled(talk.do(Recall("harbour fact 2")))
    assert len(read) == 16, "looking it up reads nothing"
    talk.do(Send("And then?"))
    rest(talk)
    assert read[16:] == [9, 9]


def test_a_message_that_comes_before_it_is_read_finds_the_same(talk: Chat, read: list[int]) -> None:
    assert "the harbour of Lisbon has 74 boats" in recalled(talk.do(Recall("harbour fact 2")))
    assert len(read) == 16


def test_nothing_is_read_where_nothing_can_be_recalled(chat: Chat, read: list[int]) -> None:
    chat.do(Send("hello"))
    assert "indexing" not in rest(chat)
    assert read == []
    chat.do(Send("one more"))
    chat.do(Send("and one"))
    chat.do(Set("memory.keep_turns", 1))
    chat.do(Compact())
    chat.do(Set("memory.recall", False))
    rest(chat)
    assert read == []


def test_a_failure_is_no_circle(talk: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise StoreError("The disk is gone.")

    monkeypatch.setattr(Archive, "learn", fail)
    rest(talk)
    monkeypatch.undo()
    assert "74 boats" in recalled(talk.do(Recall("harbour fact 2")))
