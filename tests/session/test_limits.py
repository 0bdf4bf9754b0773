"""A full context: refused before anything is lost, or the partial answer is kept and says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from talk import Talk
from tiny import reference_model, tiny_loaded

from chatkv.errors import ContextFullError, UsageError
from chatkv.protocol import PrefixBreak


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tiny_loaded("llama"), tmp_path / "t.db", reference=reference_model("llama"))


def test_a_message_that_cannot_fit_is_refused_with_counts_before_it_is_stored(talk: Talk) -> None:
    talk.say("hello", 3)
    talk.runtime.engine.limit(90)
    before = talk.path
    with pytest.raises(ContextFullError, match=r"\d+ tokens \(\d+ of them new\).* holds 90"):
        talk.say("word " * 40)
    assert talk.path == before
    assert talk.say("ok", 2).finish == "length"


def test_a_context_that_fills_in_mid_answer_keeps_what_there_is(talk: Talk) -> None:
    talk.say("hello", 3)
    used = len(talk.runtime.engine.ledger)
    talk.runtime.engine.limit(used + 40)
    turn = talk.say("go", 500)
    if turn.finish == "context":
        assert turn.kv_tokens == used + 40
    assert turn.finish in ("context", "stop")
    assert talk.path[-1].status in ("length", "complete")
    assert len(talk.path[-1].ids) == turn.decoded > 0


def test_reserved_memory_stays_within_the_limit(talk: Talk) -> None:
    talk.runtime.engine.limit(1500)
    talk.say("word " * 270, 3)
    cache = talk.runtime.engine.cache
    assert cache.reserved_bytes <= 1500 * talk.loaded.bytes_per_token


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
