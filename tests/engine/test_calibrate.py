"""What int8 does to answers: measured on a copy, the live KV bit for bit as it was, broken off anywhere."""

from __future__ import annotations

from collections.abc import Generator

import pytest
import torch
from outliers import with_outliers
from tiny import CONFIGS, tiny_loaded
from torch import Tensor

from chatkv.engine import calibrate
from chatkv.engine.calibrate import N_READ, Calibration, calibrated
from chatkv.engine.loader import LoadedModel
from chatkv.engine.local import LocalEngine
from chatkv.kv.layers import GrowingLayer

N_TOKENS = 300
IDS = [5 + i * i % 200 for i in range(N_TOKENS)]


def filled(loaded: LoadedModel) -> LocalEngine:
    engine = LocalEngine(loaded)
    for start in range(0, N_TOKENS, 50):
        engine.feed(IDS[start : start + 50], "user", 1)
        engine.checkpoint()
    return engine


def snapshot(engine: LocalEngine) -> list[Tensor]:
    layers = [layer for layer in engine.cache.layers if isinstance(layer, GrowingLayer)]
    sides = [side.clone() for layer in layers for side in (layer.keys, layer.values) if side is not None]
    for state in engine.cache.states_at(N_TOKENS).values():
        held = [*state.conv.values(), *state.recurrent.values()]
        sides += [tensor.clone() for tensor in held if tensor is not None]
    return sides


def is_as_before(engine: LocalEngine, before: list[Tensor]) -> bool:
    same = all(torch.equal(a, b) for a, b in zip(before, snapshot(engine), strict=True))
    return same and list(engine.ledger.ids) == IDS and engine.in_step()


def run(work: Generator[None, None, Calibration | None]) -> tuple[int, Calibration | None]:
    """(steps, result)."""
    n_steps = 0
    while True:
        try:
            next(work)
        except StopIteration as end:
            return n_steps, end.value
        n_steps += 1


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_kind_is_measured_and_left_as_it_was(kind: str) -> None:
    engine = filled(tiny_loaded(kind))
    before, logits = snapshot(engine), engine.logits.clone()
    n_steps, found = run(calibrated(engine, N_TOKENS, 256))
    assert found is not None
    assert found.n_tokens == N_READ
    assert 0 < found.kl < 0.01
    assert found.agreement > 0.9
    assert n_steps == 2 * N_READ // 16  # gives way between short calls
    assert is_as_before(engine, before)
    assert torch.equal(engine.logits, logits)


@pytest.mark.parametrize("kind", ["llama", "hybrid"])
def test_without_int8_there_is_no_difference_at_all(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured is int8 alone, not another order of summation."""
    monkeypatch.setattr(calibrate, "_put_through_int8", lambda cache: None)
    assert run(calibrated(filled(tiny_loaded(kind)), N_TOKENS, 256))[1] == Calibration(0.0, 1.0, N_READ)


@pytest.mark.parametrize("kind", ["llama", "hybrid"])
def test_it_can_be_broken_off_anywhere(kind: str) -> None:
    engine = filled(tiny_loaded(kind))
    before = snapshot(engine)
    for n_steps in range(2 * N_READ // 16):
        work = calibrated(engine, N_TOKENS, 256)
        for _ in range(n_steps):
            next(work)
        work.close()
        assert is_as_before(engine, before)
    engine.feed([7, 8], "user", 1)


def test_a_model_with_huge_channels_is_found_out() -> None:
    """They change nothing in what the model computes; in int8 they leave no steps for the others."""
    engine = filled(with_outliers(tiny_loaded("llama"), 1e4))
    _, found = run(calibrated(engine, N_TOKENS, 256))
    assert found is not None
    assert found.kl > 0.01
    assert not found.is_harmless


def test_what_is_no_number_is_no_permission() -> None:
    assert not Calibration(float("inf"), 1.0, N_READ).is_harmless
    assert not Calibration(float("nan"), 1.0, N_READ).is_harmless
    assert not Calibration(0.0, 0.97, N_READ).is_harmless
    assert not Calibration(0.011, 1.0, N_READ).is_harmless
    assert Calibration(0.01, 0.98, N_READ).is_harmless


def test_it_waits_where_a_copy_does_not_fit_in_the_budget() -> None:
    engine = filled(tiny_loaded("llama"))
    engine.budget_bytes = engine.cache.reserved_bytes + 255 * engine.loaded.bytes_per_token
    assert run(calibrated(engine, N_TOKENS, 256)) == (0, None)
    engine.budget_bytes += engine.loaded.bytes_per_token
    assert run(calibrated(engine, N_TOKENS, 256))[1] is not None
    assert run(calibrated(engine, 200, 256)) == (0, None)


def test_memory_that_runs_out_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = filled(tiny_loaded("llama"))
    before = snapshot(engine)

    def full(*_: object) -> Tensor:
        raise MemoryError

    monkeypatch.setattr(calibrate, "_read", full)
    assert run(calibrated(engine, N_TOKENS, 256)) == (0, None)
    assert is_as_before(engine, before)
