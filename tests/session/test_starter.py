"""The promise on the real starter model: exact in float32, nothing read twice, and it answers."""

from __future__ import annotations

import functools
import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from drafts import n_drafted, write
from hypothesis import HealthCheck, given, settings
from starter import starter_folder
from steps import STEPS, carry_out
from talk import Talk
from thorough import examples
from transformers import AutoModelForCausalLM

from chatkv.config import LoadConfig
from chatkv.engine.loader import LoadedModel, load_model
from chatkv.models import ModelFiles

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("starter")]


@functools.cache
def starter() -> LoadedModel:
    files = ModelFiles("starter", starter_folder())
    return load_model(files, LoadConfig(device="cpu", dtype="float32", threads=1), lambda _: None)


@functools.cache
def reference() -> Any:
    """The same weights, in the same memory, on transformers' own eager attention."""
    model = AutoModelForCausalLM.from_config(starter().model.config, attn_implementation="eager")
    model.load_state_dict(starter().model.state_dict(), assign=True)
    return model.eval().requires_grad_(False)


@settings(
    max_examples=examples(2, 4), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(steps=STEPS)
def test_random_conversations_are_exact(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(starter(), Path(folder) / "t.db", reference=reference(), chunk=64)
        talk.say("Hello! What is the capital of France?", 6)
        for step in steps:
            carry_out(talk, *step)
        talk.store.close()


def test_a_conversation_reads_every_token_once(tmp_path: Path) -> None:
    talk = Talk(starter(), tmp_path / "t.db", reference=reference(), chunk=64)
    first = talk.say("What is the capital of France?", 12)
    assert "Paris" in talk.path[-1].text
    turns = [first]
    for text in ("And of Spain? In 2023.", "Thanks,\n\n  bye 👋", "One more: 1,450 + 7?"):
        talk.idle()
        turns.append(talk.say(text, 12))
    for before, after in itertools.pairwise(turns):
        assert after.reused == before.kv_tokens
    read = sum(turn.prefilled + turn.prefilled_early for turn in turns)
    assert read + sum(turn.decoded for turn in turns) == turns[-1].kv_tokens
    talk.store.close()


def test_a_paste_that_was_looked_over_is_not_read_at_enter(tmp_path: Path) -> None:
    talk = Talk(starter(), tmp_path / "t.db", reference=reference(), chunk=256)
    talk.say("What is the capital of France?", 8)
    paste = "The river was 1,450 m wide, and nobody had crossed it yet.\n" * 28
    n_tokens = talk.runtime.codec.count(paste)
    write(talk, paste)
    assert n_drafted(talk) > n_tokens > 500
    turn = talk.say(paste, 8)
    assert turn.prefilled <= 16
    assert turn.prefilled_early > n_tokens
    talk.store.close()
