"""Whatever is typed, changed and taken back before something is sent: all is as if only that had been typed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from drafts import idle, n_drafted, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept import LONG
from steps import TEXTS, carry_out
from talk import Talk
from thorough import examples
from tiny import CONFIGS, reference_model, tiny_loaded

from chatkv.protocol import Turn

_DRAFTS = st.one_of(TEXTS, st.sampled_from(["", " ", "hello in there", LONG]))
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), _DRAFTS, st.booleans(), st.sampled_from([1, 3, 1000])),
        st.tuples(st.just("write"), _DRAFTS, st.booleans(), st.sampled_from([1, 3, 1000])),
        st.tuples(st.just("type on"), TEXTS, st.booleans()),
        st.tuples(st.just("delete"), st.integers(1, 9), st.booleans()),
        st.tuples(st.just("enter")),
        st.tuples(st.just("say"), TEXTS, st.integers(1, 6), st.none()),
        st.tuples(st.just("regenerate"), st.integers(1, 6), st.none()),
        st.tuples(st.just("edit"), st.integers(0, 9), TEXTS, st.none()),
        st.tuples(st.just("fork"), st.integers(0, 9)),
        st.tuples(st.just("cut")),
    ),
    min_size=6,
    max_size=12,
)


class Pair:
    """Two conversations in which the same is said; in one of them it is typed, with much that is not sent."""

    def __init__(self, kind: str, folder: Path, chunk: int) -> None:
        loaded, reference = tiny_loaded(kind), reference_model(kind)
        self.typed = Talk(loaded, folder / "typed.db", reference=reference, chunk=chunk)
        self.plain = Talk(loaded, folder / "plain.db", reference=reference, chunk=chunk)
        self.text = ""
        for talk in (self.typed, self.plain):
            talk.set("store.kv", "0")  # what comes from disk is as exact, and labelled otherwise

    def carry_out(self, act: str, *details: Any) -> None:
        match act, *details:
            case "write", text, rest, n_steps:
                self._write(text, rest, n_steps)
            case "type on", more, rest:
                self._write(self.text + more, rest, 1000)
            case "delete", n, rest:
                self._write(self.text[:-n], rest, 1000)
            case "cut", *_:
                self.typed.session.drafting.cut()
            case "enter", *_ if self.text.strip():
                self._say("say", self.text, 4, None)
                self.text = ""
            case "say" | "regenerate" | "edit" | "fork", *_:
                self._say(act, *details)

    def _write(self, text: str, rest: bool, n_steps: int) -> None:
        self.text = text
        write(self.typed, text, rest=rest, n_steps=n_steps)
        settled = self.typed.session.upkeep.planner.stable.ids
        if n_drafted(self.typed):
            ledger = self.typed.runtime.engine.ledger
            assert tuple(ledger.ids[: len(settled)]) == settled

    def _say(self, act: str, *details: Any) -> None:
        for talk in (self.typed, self.plain):
            carry_out(talk, act, *details)
        self.check_turn()

    def check_turn(self) -> None:
        path = self.typed.path
        assert [(m.role, m.text, m.ids) for m in path] == [(m.role, m.text, m.ids) for m in self.plain.path]
        turn = next((event for event in self.typed.events if isinstance(event, Turn)), None)
        if turn is not None and path:
            seen = self.typed.session.context.messages(path[:-1], recalled_for=path[-2].id)
            prompt = self.typed.session.runtime.chat.render(seen, answer=True)
            assert turn.reused + turn.prefilled_early + turn.prefilled == len(prompt.ids)
            assert turn.prefilled > 0

    def check_same(self) -> None:
        """With nothing left to type, ledger and KV hold the same."""
        write(self.typed, "")
        idle(self.plain)
        assert not n_drafted(self.typed)
        typed, plain = self.typed.runtime.engine, self.plain.runtime.engine
        for talk in (self.typed, self.plain):  # of a branch that was left, what was settled may stand behind
            talk.runtime.engine.rewind(len(talk.session.upkeep.planner.stable.ids))
        assert list(typed.ledger.ids) == list(plain.ledger.ids)
        assert typed.ledger.segments == plain.ledger.segments
        for mine, theirs in zip(typed.cache.keys(), plain.cache.keys(), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", CONFIGS)
@settings(
    max_examples=examples(3, 6), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(steps=_STEPS, chunk=st.sampled_from([3, 16, 128]))
def test_what_is_not_sent_leaves_no_trace(kind: str, steps: list[tuple[Any, ...]], chunk: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(kind, Path(folder), chunk)
        pair.carry_out("write", "hello in there", True, 1000)
        pair.carry_out("enter")
        for step in steps:
            pair.carry_out(*step)
        pair.check_same()
        pair.typed.store.close()
        pair.plain.store.close()
