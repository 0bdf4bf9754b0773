"""Each policy in a long conversation inside a tight budget: what goes, what stays, and what it costs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from talk import Talk
from thorough import cases
from tiny import tiny_loaded

from chatkv.config import MemoryConfig
from chatkv.memory.policy import POLICIES
from chatkv.protocol import Compaction, Turn

MARK = {"summary": "summarized", "attended": "summarized", "window": "archived", "sinks": "archived"}


def tight(tmp_path: Path, policy: str, *, budget: str = "400 KiB") -> Talk:
    memory = MemoryConfig(budget, policy=policy, recall=False)
    return Talk(tiny_loaded("llama"), tmp_path / "t.db", chunk=64, memory=memory)


def fact(n: int) -> str:
    boats = f"Fact {n:02}: the harbour of Lisbon has {100 + n * 7} boats in it"
    return f"{boats}, and the tower at its mouth {n * 3} steps."


def done(talk: Talk) -> list[Compaction]:
    return [event for event in talk.events if isinstance(event, Compaction) and event.stage == "done"]


def marks(talk: Talk) -> dict[int, str]:
    return {mark.turn: mark.mark for mark in talk.session.context.marks().turns}


def seen(talk: Talk) -> str:
    return talk.runtime.codec.decode(talk.session.upkeep.planner.stable.ids)


def check(talk: Talk, turn: Turn, policy: str) -> None:
    """What holds after every turn under every policy."""
    assert turn.finish in ("stop", "length")
    assert turn.reused + turn.prefilled_early + turn.prefilled + turn.decoded == turn.kv_tokens
    told, text = marks(talk), seen(talk)
    assert set(told) == set(range(1, turn.turn + 1))
    for n in range(max(1, turn.turn - 1), turn.turn + 1):
        assert told[n] in ("verbatim", "pinned")
        assert fact(n) in text
    assert set(told.values()) <= {MARK[policy], "verbatim", "pinned"}
    assert "be kind" in text
    if turn.turn > 2:
        assert told[2] == "pinned"
        assert fact(2) in text


EVERY = list(itertools.product(POLICIES, [False, True]))
USUAL = [(policy, rests) for policy, rests in EVERY if rests or policy in ("summary", "sinks")]


@pytest.mark.parametrize(("policy", "rests"), cases(EVERY, USUAL))
def test_the_conversation_goes_on_and_what_must_stay_stays(policy: str, rests: bool, tmp_path: Path) -> None:
    talk = tight(tmp_path, policy)
    compactions: list[Compaction] = []
    for n in range(1, 31):
        turn = talk.say(fact(n), 4)
        in_turn = done(talk)
        assert len(in_turn) <= 1
        compactions += in_turn
        check(talk, turn, policy)
        if n == 2:
            talk.do(talk.session.memory.pin(2, pinned=True))
        if rests:
            talk.idle()
            compactions += done(talk)
            check(talk, turn, policy)
    assert len(compactions) >= 2
    methods = [event.method for event in compactions]
    assert (
        methods.count("prefilled") <= 1
    )  # an old turn that stays and the first summary leave no room to move
    for event in compactions:
        assert bool(event.text) == POLICIES[policy].summarizes
        assert 2 not in event.turns
    gone = [turn for event in compactions for turn in event.turns]
    assert len(gone) == len(set(gone))
    assert {turn for turn, mark in marks(talk).items() if mark == MARK[policy]} == set(gone)
    assert [message.text for message in talk.path if message.role == "user"] == [
        fact(n) for n in range(1, 31)
    ]
    talk.idle()
    assert (talk.runtime.engine.ledger.first_of("E2") is None) == POLICIES[policy].heals


def counted(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tokens of each model call from now on."""
    engine, calls = talk.runtime.engine, list[int]()
    call = engine._call_model

    def counting(ids: Sequence[int], start: int) -> Any:
        calls.append(len(ids))
        return call(ids, start)

    monkeypatch.setattr(engine, "_call_model", counting)
    return calls


@pytest.mark.parametrize("rests", [False, True])
def test_sinks_reads_every_token_once_and_lets_one_turn_go_at_a_time(
    rests: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = tight(tmp_path, "sinks")
    assert talk.runtime.engine.turnings
    calls = counted(talk, monkeypatch)
    gone: list[tuple[int, ...]] = []
    for n in range(1, 25):
        talk.say(fact(n), 4)
        gone += [event.turns for event in done(talk)]
        if rests:
            talk.idle()
            assert done(talk) == []
    talk.idle()
    assert len(gone) > 5
    assert [turn for turns in gone for turn in turns] == list(range(1, len(marks(talk)) - n_left(talk) + 1))
    assert sum(len(turns) > 1 for turns in gone) <= 1  # two where the first was a little too short
    whole = talk.runtime.chat.stable_prefix(_all(talk.session.context))
    opener = whole.segments[-1].n_tokens  # of the message to come: too short to be worth a move
    assert sum(calls) == len(whole.ids) + (opener * len(gone) if rests else 0)


def n_left(talk: Talk) -> int:
    return len(talk.session.context.in_context())


def _all(context: Any) -> Any:
    """Messages of the branch as if nothing had ever gone."""
    summary, context.summary = context.summary, None
    try:
        return context.messages()
    finally:
        context.summary = summary


def test_window_lets_go_to_the_target_at_once_and_rarely(tmp_path: Path) -> None:
    talk = tight(tmp_path, "window")
    at: list[int] = []
    for n in range(1, 31):
        talk.say(fact(n), 4)
        talk.idle()
        if done(talk):
            at.append(n)
            assert len(done(talk)[0].turns) >= 5
            room = talk.session.upkeep.planner.room
            assert len(talk.session.upkeep.planner.stable.ids) <= room.target
    assert len(at) >= 2
    assert all(later - earlier >= 5 for earlier, later in itertools.pairwise(at))


@pytest.mark.parametrize("policy", ["attended", "summary"])
def test_a_turn_that_questions_dwell_on_stays_only_where_attention_counts(
    policy: str, tmp_path: Path
) -> None:
    talk = tight(tmp_path, policy)
    n_compactions = 0
    for n in range(1, 25):
        talk.runtime.standing.heat[3] = 50.0
        talk.say(fact(n), 4)
        talk.runtime.standing.heat[3] = 50.0
        talk.idle()
        n_compactions += len(done(talk))
    assert n_compactions >= 2
    assert marks(talk)[3] == ("verbatim" if policy == "attended" else "summarized")
    assert (fact(3) in seen(talk).replace(talk.session.memory.summarized().text, "")) == (
        policy == "attended"
    )
    assert marks(talk)[4] == "summarized"
    talk.say("And?", 4)


def test_a_policy_changed_on_the_way_holds_from_the_next_compaction_on(tmp_path: Path) -> None:
    talk = tight(tmp_path, "summary")
    texts: list[tuple[str, bool]] = []
    for n in range(1, 61):
        if n % 15 == 0:
            talk.set("memory.policy", list(POLICIES)[n // 15 % 4])
        turn = talk.say(fact(n), 4)
        assert turn.finish in ("stop", "length")
        texts += [(talk.runtime.memory.policy, bool(event.text)) for event in done(talk)]
        assert fact(n) in seen(talk)
    assert {policy for policy, _ in texts} == set(POLICIES)
    for policy, has_text in texts:
        assert has_text or not POLICIES[policy].summarizes
