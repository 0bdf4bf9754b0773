"""Whatever fails while KV is built beside, moved or healed: what is left is in step, and what it says it is."""

from __future__ import annotations

from typing import Any

import pytest
from stretches import (
    NEW,
    OLD,
    WAY,
    assert_exact,
    assert_same,
    engine_of,
    failing,
    fed,
    ids,
    layers,
    spliced,
    states,
)

from chatkv.engine.local import OutOfMemory
from chatkv.engine.prefill import Prefiller

KINDS = ["llama", "gemma3", "glm"]
ERRORS = [RuntimeError("broken"), KeyboardInterrupt(), MemoryError()]
FRESH = NEW.ids[WAY.shared : WAY.built]


@pytest.fixture(params=[1, 2])
def nth_layer(request: pytest.FixtureRequest) -> int:
    """Which layer fails."""
    return int(request.param)


def raises(error: BaseException) -> Any:
    """As it is, or as the engine says that memory is short."""
    return pytest.raises(OutOfMemory if isinstance(error, MemoryError) else type(error))


def break_layer(
    monkeypatch: pytest.MonkeyPatch, engine: Any, nth: int, name: str, error: BaseException
) -> None:
    """Make `name` of the nth layer raise in the midst of its work."""
    layer = layers(engine)[nth - 1]
    work = getattr(layer, name)

    def half(*args: Any, **kwargs: Any) -> None:
        work(*args, **kwargs)
        raise error

    monkeypatch.setattr(layer, name, half)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", ERRORS)
def test_reading_beside_may_fail_and_may_be_tried_again(
    kind: str, error: BaseException, nth_layer: int
) -> None:
    engine = engine_of(kind)
    before = states(engine)
    engine.fork(WAY.shared, len(FRESH))
    engine.feed(FRESH[:5], "wrapper", 0)
    with failing(engine.loaded.model, nth_layer, error), raises(error):
        engine.feed(FRESH[5:], "wrapper", 0)
    assert engine.in_step()
    assert list(engine.ledger.ids) == [*OLD.ids[: WAY.shared], *FRESH[:5]]
    assert_exact(engine)
    if isinstance(error, MemoryError):
        engine.feed(FRESH[5:], "wrapper", 0)
        engine.graft(WAY.shared, WAY.moves)
        assert list(engine.ledger.ids) == list(NEW.ids)
        assert_exact(engine, end=WAY.built)
    else:
        engine.join()
        assert list(engine.ledger.ids) == list(OLD.ids)
        assert_same(engine, before)


@pytest.mark.parametrize("error", ERRORS)
def test_a_fork_that_fails_half_way_leaves_the_live_kv_as_it_was(
    error: BaseException, nth_layer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_of("llama")
    before = states(engine)
    with monkeypatch.context() as patch:
        break_layer(patch, engine, nth_layer, "fork", error)
        with raises(error):
            engine.fork(WAY.shared, len(FRESH))
    assert list(engine.ledger.ids) == list(OLD.ids)
    assert engine.in_step()
    assert_same(engine, before)
    spliced(engine, NEW, WAY)
    assert list(engine.ledger.ids) == list(NEW.ids)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(
    ("in_place", "broken"), [(False, "graft"), (False, "move"), (True, "move"), (True, "update")]
)
def test_a_splice_that_fails_leaves_the_shared_beginning_and_it_is_exact(
    kind: str,
    error: BaseException,
    in_place: bool,
    broken: str,
    nth_layer: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = engine_of(kind)
    assert engine.turnings
    before = states(engine)
    with monkeypatch.context() as patch:
        if not in_place:
            engine.fork(WAY.shared, len(FRESH))
            fed(engine, FRESH)
        break_layer(patch, engine, nth_layer, broken, error)
        with raises(error):
            if in_place:
                engine.replace(WAY.shared, FRESH, WAY.moves)
            else:
                engine.graft(WAY.shared, WAY.moves)
    assert list(engine.ledger.ids) == list(OLD.ids[: WAY.shared])
    assert engine.ledger.low <= WAY.shared
    assert engine.in_step()
    assert_same(engine, before, WAY.shared)
    engine.join()
    fed(engine, NEW.ids[WAY.shared :])
    assert_exact(engine)
    assert engine.ledger.first_of("E2") is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", ERRORS)
def test_healing_that_fails_keeps_every_token_and_goes_on_later(
    kind: str, error: BaseException, nth_layer: int
) -> None:
    engine = engine_of(kind)
    spliced(engine, NEW, WAY)
    prefiller = Prefiller(engine, 44)
    prefiller.heal_step()
    with failing(engine.loaded.model, nth_layer, error), raises(error):
        prefiller.heal_step()
    assert engine.in_step()
    assert list(engine.ledger.ids) == list(NEW.ids)
    assert engine.ledger.first_of("E2") == WAY.built + 11
    assert_exact(engine, end=WAY.built + 11)
    with pytest.raises(AssertionError, match="ledger changed"):
        _ = engine.logits
    while prefiller.heal_step():
        pass
    assert_exact(engine)


def test_a_turn_may_go_on_a_kv_that_is_half_healed_and_is_healed_with_it() -> None:
    engine = engine_of("llama")
    spliced(engine, NEW, WAY)
    Prefiller(engine, 44).heal_step()
    fed(engine, ids(12, 9))
    engine.rewind(len(NEW.ids) + 5)
    assert engine.ledger.first_of("E2") == WAY.built + 11
    while Prefiller(engine, 44).heal_step():
        assert engine.in_step()
    assert_exact(engine)
