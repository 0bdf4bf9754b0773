"""However a model call ends, ledger and layers are in step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from talk import Talk
from tiny import CONFIGS, reference_model, tiny_loaded

from chatkv.engine.local import LocalEngine, OutOfMemory
from chatkv.engine.prefill import Prefiller
from chatkv.errors import EngineError
from chatkv.tokens import Rendered, Segment


class Failing:
    """Makes the n-th layer call from now raise `error`, once."""

    def __init__(self, model: Any, n_calls: int, error: BaseException) -> None:
        self._left, self._error = n_calls, error
        layers = model.get_decoder().layers
        self._hooks = [layer.register_forward_hook(self._hit) for layer in layers]

    def _hit(self, *_: object) -> None:
        self._left -= 1
        if self._left == 0:
            raise self._error

    def __enter__(self) -> Failing:
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()


def prompt(n: int) -> Rendered:
    return Rendered(tuple(5 + i % 200 for i in range(n)), (Segment("user", 1, n),))


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt(), MemoryError()])
def test_a_failed_call_leaves_no_trace(kind: str, error: BaseException) -> None:
    engine = LocalEngine(tiny_loaded(kind))
    for _ in Prefiller(engine, 16).run(prompt(30), lambda: False):
        pass
    before, logits = list(engine.ledger.ids), engine.logits.clone()
    with Failing(engine.loaded.model, 1, error), pytest.raises((type(error), OutOfMemory)):
        engine.feed([7, 8, 9], "user", 1)
    assert engine.in_step()
    kept = len(engine.ledger)
    assert list(engine.ledger.ids) == before[:kept]
    assert kept >= (29 if kind == "hybrid" else 30)
    engine.rewind(29)
    engine.feed(before[len(engine.ledger) :], "user", 1)
    torch.testing.assert_close(engine.logits, logits, atol=1e-4, rtol=1e-4)


def test_out_of_memory_in_prefill_is_retried_in_smaller_chunks() -> None:
    engine = LocalEngine(tiny_loaded("llama"))
    with Failing(engine.loaded.model, 3, MemoryError()):
        fed = list(Prefiller(engine, 64).run(prompt(200), lambda: False))
    assert fed[0] == 64
    assert max(fed[1:]) == 16
    assert sum(fed) == len(engine.ledger) == 200


def test_out_of_memory_for_good_is_an_error_that_keeps_what_was_fed() -> None:
    engine = LocalEngine(tiny_loaded("llama"))
    for _ in Prefiller(engine, 16).run(prompt(20), lambda: False):
        pass
    with Failing(engine.loaded.model, 1, MemoryError()), pytest.raises(OutOfMemory, match="Out of memory"):
        list(Prefiller(engine, 16).run(prompt(50), lambda: False))
    assert len(engine.ledger) == 20
    assert engine.in_step()


def test_stale_logits_are_never_used() -> None:
    engine = LocalEngine(tiny_loaded("llama"))
    engine.feed([5, 6, 7], "user", 1)
    assert engine.logits.shape == (272,)
    engine.rewind(2)
    with pytest.raises(AssertionError, match="ledger changed"):
        _ = engine.logits


@pytest.mark.parametrize("kind", ["llama", "hybrid"])
def test_logits_that_are_not_numbers_end_the_turn_and_the_next_one_works(kind: str, tmp_path: Path) -> None:
    talk = Talk(tiny_loaded(kind), tmp_path / "t.db", reference=reference_model(kind))
    talk.say("hello", 4)
    head = talk.loaded.model.get_output_embeddings()
    hook = head.register_forward_hook(lambda module, args, out: torch.full_like(out, float("nan")))
    try:
        turn = talk.say("and then?", 4)
    finally:
        hook.remove()
    assert turn.finish == "error"
    assert turn.decoded == 0
    assert talk.path[-1].status == "error"
    assert talk.say("are you back?", 4).finish != "error"


def test_a_model_that_stores_nothing_is_refused() -> None:
    engine = LocalEngine(tiny_loaded("llama"))
    first: Any = engine.cache.layers[0]
    first.update = lambda keys, values, *a, **k: (keys, values)
    with pytest.raises(EngineError, match="did not store"):
        engine.feed([5, 6], "user", 1)
    assert len(engine.ledger) == 0
    assert engine.in_step()
