"""Whatever a person does inside a tight budget: ledger = KV, nothing over it, what must stay stays, nothing lost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from steps import MEMORY_STEPS, remember
from talk import Talk
from thorough import examples
from tiny import CONFIGS, reference_model, tiny_loaded

from chatkv.config import MemoryConfig


def check(talk: Talk, known: set[int]) -> None:
    """The invariants of design and issue: they hold between any two things that a person does."""
    context, runtime = talk.session.context, talk.runtime
    talk.check_lengths()
    if runtime.engine.cache.can_move:
        assert runtime.engine.cache.reserved_bytes <= runtime.budget_bytes
    rendered = runtime.codec.decode(talk.session.upkeep.planner.stable.ids)
    assert not context.path or "be kind" in rendered
    standing = {round.turn for round in context.in_context()}
    assert {round.turn for round in context.rounds if round.user_id in context.pins} <= standing
    marks = {mark.turn: mark.mark for mark in context.marks().turns}
    assert set(marks) == {round.turn for round in context.rounds}
    assert {turn for turn, mark in marks.items() if mark in ("verbatim", "pinned")} == standing
    for message in known:
        talk.store.message(message)


@pytest.mark.parametrize("kind", CONFIGS)
@settings(
    max_examples=examples(8, 25), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(steps=MEMORY_STEPS, chunk=st.sampled_from([16, 64]))
def test_memory_keeps_every_promise(kind: str, steps: list[tuple[Any, ...]], chunk: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = MemoryConfig("160 KiB", recall_tokens=96)
        talk = Talk(
            tiny_loaded(kind),
            Path(folder) / "t.db",
            reference=reference_model(kind),
            chunk=chunk,
            memory=memory,
        )
        known: set[int] = set()
        for text in ("hello in there", "the boats are 1,450 in all", "a tower"):
            talk.say(text, 4)
        for step in steps:
            remember(talk, *step)
            check(talk, known)
            known |= {message.id for message in talk.path}
        talk.idle()
        assert (
            not talk.session.upkeep.planner.policy.heals or talk.runtime.engine.ledger.first_of("E2") is None
        )
        talk.say("Still there?", 3)
        check(talk, known)
        talk.store.close()
