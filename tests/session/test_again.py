"""Another answer to any message: a branch beside the old one, and nothing that the KV need not read again is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from talk import Talk
from tiny import reference_model, tiny_loaded

from chatkv.errors import UsageError


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tiny_loaded("llama"), tmp_path / "t.db", reference=reference_model("llama"))


def test_an_earlier_message_is_answered_again_beside_the_old_answer(talk: Talk) -> None:
    talk.say("first of all", 4)
    talk.say("second", 4)
    talk.say("third", 4)
    old = talk.path
    turn = talk.regenerate(6, message_id=old[2].id)
    talk.check()  # warm: what a model without a cache says
    assert (turn.turn, turn.user_id) == (2, old[2].id)
    assert [message.id for message in talk.path] == [*(message.id for message in old[:3]), turn.message_id]
    assert turn.prefilled < 10  # the first turn and the second question are still in the KV
    assert turn.reused > turn.prefilled
    kept = talk.store.path(old[-1].id)
    assert [message.text for message in kept] == [message.text for message in old]
    assert talk.store.alternatives(turn_session(talk))[old[2].id] == (old[3].id, turn.message_id)
    assert talk.say("and then?", 4).turn == 3


def test_an_answer_names_its_question(talk: Talk) -> None:
    talk.say("first", 4)
    talk.say("second", 4)
    assert talk.regenerate(4, message_id=talk.path[1].id).user_id == talk.path[0].id


def test_stopped_before_its_first_token_it_leaves_the_branch_as_it_was(talk: Talk) -> None:
    talk.say("first", 4)
    talk.say("second", 4)
    before = talk.path
    assert talk.regenerate(4, 0, before[0].id).finish == "cancelled"
    assert talk.path == before
    assert talk.say("third", 4).turn == 3


def test_a_message_of_another_session_is_not_answered(talk: Talk) -> None:
    talk.say("first", 4)
    other = talk.store.create_session("m", "other")
    user, _ = talk.store.add_exchange(other.id, None, "elsewhere", 1, "m")
    before = talk.path
    with pytest.raises(UsageError, match="another session"):
        talk.regenerate(4, message_id=user.id)
    assert talk.path == before


def turn_session(talk: Talk) -> str:
    assert talk.session.record is not None
    return talk.session.record.id
