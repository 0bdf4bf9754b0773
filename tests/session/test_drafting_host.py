"""Drafts and counts beside the line: answered at once, in the way of nothing, never part of another conversation."""

from __future__ import annotations

import itertools

from drafts import time_since_typing
from hosting import Chat

from chatkv.protocol import (
    Compact,
    Compaction,
    Count,
    Counted,
    Draft,
    Drafted,
    Event,
    Idle,
    New,
    Open,
    Send,
    Set,
    Stats,
    Turn,
)

TEXT = "the quick brown fox jumps over the lazy dog; " * 4


def pause(chat: Chat) -> list[Event]:
    """What idle time tells after a pause, until there is nothing to do."""
    start = len(chat.events)
    with time_since_typing(1):
        while chat.host.has_idle_work:
            chat.host.idle_step()
    return chat.events[start:]


def n_drafted(chat: Chat) -> int:
    return chat.host.runtime.engine.ledger.n_drafted


def of(kind: type, events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def test_a_draft_is_counted_at_once_and_read_when_idle(chat: Chat) -> None:
    chat.host.attend(Draft(TEXT))
    told = chat.events[-1]
    assert isinstance(told, Drafted)
    assert told.tokens == chat.host.runtime.codec.count(TEXT)
    assert told.room >= told.free > told.tokens
    assert told.prefilled == 0
    read = [event.prefilled for event in pause(chat) if isinstance(event, Drafted)]
    assert read == sorted(read)
    assert read[-1] == n_drafted(chat) > told.tokens
    (turn,) = of(Turn, chat.do(Send(TEXT)))
    assert isinstance(turn, Turn)
    assert turn.prefilled == 1
    last = of(Drafted, pause(chat))[-1]
    assert isinstance(last, Drafted)
    assert (last.tokens, last.prefilled) == (0, 0)


def test_a_count_answers_under_its_key(chat: Chat) -> None:
    chat.host.attend(Count("doc", TEXT))
    assert chat.events[-1] == Counted("doc", chat.host.runtime.codec.count(TEXT))


def test_while_an_answer_runs_a_draft_is_counted_only(chat: Chat) -> None:
    chat.at_delta = lambda: chat.host.attend(Draft("next"))
    events = chat.do(Send("hello"))
    assert of(Drafted, events) == [Drafted(chat.host.runtime.codec.count("next"), 0, 0)]
    assert len(of(Turn, events)) == 1
    assert not n_drafted(chat)
    later = of(Drafted, pause(chat))
    assert all(isinstance(event, Drafted) and event.free for event in later)
    assert n_drafted(chat), "it is read once the answer has ended"


def test_a_draft_interrupts_no_idle_work(chat: Chat) -> None:
    chat.do(Send("hello"))
    chat.host.idle_step()
    work = chat.host.session.upkeep._work
    assert work is not None
    chat.host.attend(Draft("x"))
    chat.host.attend(Count("k", "x"))
    assert chat.host.session.upkeep._work is work


def test_only_a_message_finds_the_draft_in_the_kv(chat: Chat) -> None:
    chat.do(Send("hello"))
    session = chat.host._session_id
    assert session is not None
    chat.host.attend(Draft(TEXT))
    pause(chat)
    drafted = n_drafted(chat)
    chat.do(Stats())
    assert n_drafted(chat) == drafted > 0
    chat.do(Set("sampling.temperature", 0.5))
    assert n_drafted(chat) == 0
    pause(chat)
    assert n_drafted(chat) == drafted, "idle time puts it back"
    chat.do(New())
    assert len(chat.host.runtime.engine.ledger) == 0
    parked = chat.host.runtime.engine.parking._parked[session].ledger
    assert parked.n_drafted == 0
    pause(chat)
    assert n_drafted(chat) > 0, "it is what would be sent here now"
    chat.do(Open(session))
    assert n_drafted(chat) == 0


def test_a_message_is_no_draft_any_more(chat: Chat) -> None:
    chat.host.attend(Draft("hello"))
    chat.do(Send("hello"))
    pause(chat)
    assert n_drafted(chat) == 0
    chat.do(New())
    pause(chat)
    assert n_drafted(chat) == 0


def test_what_was_typed_behind_a_message_stays_a_draft(chat: Chat) -> None:
    chat.host.attend(Draft("hello"))
    chat.host.attend(Draft("and then"))  # written before the message was taken from the line
    chat.do(Send("hello"))
    pause(chat)
    (turn,) = of(Turn, chat.do(Send("and then")))
    assert isinstance(turn, Turn)
    assert turn.prefilled == 1


def test_a_compaction_that_is_asked_for_does_not_count_the_draft(chat: Chat) -> None:
    for n in range(4):
        chat.do(Send(f"{n} boats and towers and whatever else there is to say"))
        pause(chat)
    settled = len(chat.host.runtime.engine.ledger)
    chat.host.attend(Draft(TEXT))
    pause(chat)
    done = of(Compaction, chat.do(Compact()))[-1]
    assert isinstance(done, Compaction)
    assert done.tokens_before == settled
    pause(chat)
    (turn,) = of(Turn, chat.do(Send(TEXT)))
    assert isinstance(turn, Turn)
    assert turn.prefilled == 1


def test_what_idle_time_is_used_for_is_told_when_it_changes(chat: Chat) -> None:
    chat.do(Send("hello"))
    chat.host.attend(Draft(TEXT))
    works = [event.work for event in pause(chat) if isinstance(event, Idle)]
    assert works[-2:] == ["drafting", ""]
    assert works[0] == "settling"
    assert all(one != other for one, other in itertools.pairwise(works))
    chat.host.attend(Draft(TEXT + "more"))
    chat.host.idle_step()
    start = len(chat.events)
    assert of(Idle, pause(chat))[-1:] == [Idle("")]
    chat.do(Stats())
    assert of(Idle, chat.events[start:])[-1] == Idle("")
