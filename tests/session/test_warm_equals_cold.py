"""The promise: whatever a person does, the KV holds the ledger and answers are those of a model without a cache."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from steps import STEPS, carry_out
from talk import Talk
from thorough import examples
from tiny import CONFIGS, reference_model, tiny_loaded


@pytest.mark.parametrize("kind", CONFIGS)
@settings(
    max_examples=examples(10, 30), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(steps=STEPS, chunk=st.sampled_from([3, 16, 128]))
def test_random_conversations_are_exact(kind: str, steps: list[tuple[Any, ...]], chunk: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(tiny_loaded(kind), Path(folder) / "t.db", reference=reference_model(kind), chunk=chunk)
        talk.say("hello in there", 4)
        for step in steps:
            carry_out(talk, *step)
        talk.store.close()
