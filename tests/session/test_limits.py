"""A full context: refused before anything is lost, or the partial answer is kept and says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from talk import Talk
from thorough import cases
from tiny import reference_model, tiny_loaded
from torch import Tensor

from chatkv.errors import ContextFullError, UsageError
from chatkv.protocol import Notice, PrefixBreak


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tiny_loaded("llama"), tmp_path / "t.db", reference=reference_model("llama"))


def test_a_message_that_cannot_fit_is_refused_with_counts_before_it_is_stored(talk: Talk) -> None:
    talk.say("hello", 3)
    talk.set("memory.budget", "64 KiB")
    before = talk.path
    with pytest.raises(ContextFullError, match=r"This message is \d+ tokens; the memory budget holds 256"):
        talk.say("word " * 60)
    assert talk.path == before
    assert talk.say("ok", 2).finish == "length"


def test_a_context_that_fills_in_mid_answer_keeps_what_there_is(talk: Talk) -> None:
    talk.set("memory.budget", "64 KiB")
    finishes = []
    for n in range(6):
        turn = talk.say(f"go {n}", 500)
        finishes.append(turn.finish)
        if turn.finish == "context":
            assert turn.kv_tokens == talk.session.upkeep.planner.room.ceiling
            assert talk.path[-1].status == "length"
            assert len(talk.path[-1].ids) == turn.decoded > 0
    assert "context" in finishes
    assert talk.say("and still", 3).decoded > 0


def test_a_full_context_can_be_continued_after_room_was_made(talk: Talk) -> None:
    talk.set("memory.budget", "128 KiB")
    talk.say("something to begin with: " + "word " * 20, 3)
    while talk.say("go on", 500).finish != "context":
        pass
    cut = talk.path[-1]
    talk.extend(4)
    assert talk.path[-1].ids[: len(cut.ids)] == cut.ids
    assert len(talk.path[-1].ids) > len(cut.ids)


def test_reserved_memory_stays_within_the_limit(talk: Talk) -> None:
    talk.set("memory.budget", "375 KiB")
    talk.say("word " * 200, 3)
    cache = talk.runtime.engine.cache
    assert cache.reserved_bytes <= 375 * 1024


def test_nothing_to_send_to_regenerate_or_to_continue_is_said(talk: Talk) -> None:
    with pytest.raises(UsageError):
        talk.say("  \n")
    with pytest.raises(UsageError):
        talk.regenerate()
    with pytest.raises(UsageError):
        talk.extend()
    assert talk.path == []


def test_a_prefix_that_breaks_is_told_with_position_and_cost(talk: Talk) -> None:
    talk.say("hello there", 4)
    talk.idle()
    engine = talk.runtime.engine
    ids = list(engine.ledger.ids)
    ids[7] = 99
    engine.rewind(0)
    engine.feed(ids, "user", 1)
    engine.ledger.mark()
    turn = talk.say("and", 3)
    broken = next(event for event in talk.events if isinstance(event, PrefixBreak))
    assert (broken.position, turn.reused) == (7, 7)
    assert broken.tokens == len(ids) - 7
    assert broken.expected != broken.found


def test_memory_that_runs_out_lowers_the_limit_and_the_chat_goes_on(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(6):
        talk.say(f"Fact {n}: " + "word " * 12, 3)
    engine, call = talk.runtime.engine, talk.runtime.engine._call_model
    held = len(engine.ledger)

    def scarce(ids: Sequence[int], start: int) -> Tensor:
        if start + len(ids) > held + 8:
            raise MemoryError
        return call(ids, start)

    monkeypatch.setattr(engine, "_call_model", scarce)
    assert talk.say("One more message, please. " * 2, 3).finish == "error"
    assert any(isinstance(event, Notice) and "Memory ran out" in event.text for event in talk.events)
    assert engine.limit_tokens < held
    assert talk.say("One more message.", 3).finish in ("stop", "length")
    assert [message.turn for message in talk.path if message.role == "user"] == list(range(1, 9))


def test_one_giant_turn_is_no_dead_end_even_right_after_a_resume(talk: Talk) -> None:
    talk.set("memory.budget", "256 KiB")
    talk.say("the giant: " + "word " * 110, 4)
    talk.set("memory.budget", "150 KiB")
    talk.resume(fresh_engine=True)
    turn = talk.say("Is there room again?", 4)
    assert turn.finish in ("stop", "length")
    assert [mark.mark for mark in talk.session.context.marks().turns][-1] == "verbatim"
    assert talk.store.message(talk.path[0].id).text.startswith("the giant: ")
    talk.idle()
    assert talk.say("And now?", 4).finish in ("stop", "length")


@pytest.mark.parametrize("spare", cases(range(0, 120, 7), range(0, 120, 14)))
def test_however_full_the_last_turn_left_it_the_next_message_is_answered(spare: int, talk: Talk) -> None:
    talk.set("memory.budget", "128 KiB")
    most = -talk.session.upkeep.planner.excess(0)
    talk.say("x" * (most - spare), 200)
    for text in ("and next?", "more " * 5):
        turn = talk.say(text, 3)
        assert turn.decoded > 0, turn.finish
