"""A KV built beside, grafted, moved and healed is that of a cold prefill, on every kind of model that can move."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from stretches import (
    MOVABLE,
    NEW,
    OLD,
    SYSTEM,
    TOLERANCE,
    TURNS,
    WAY,
    assert_exact,
    assert_same,
    end_of,
    engine_of,
    fed,
    ids,
    layers,
    next_logits,
    rendered,
    spliced,
    states,
)
from thorough import cases, examples
from tiny import UNMOVABLE, tiny_loaded
from torch import Tensor

from chatkv.engine import positions
from chatkv.engine.loader import feed_arguments
from chatkv.engine.local import LocalEngine
from chatkv.engine.prefill import Prefiller
from chatkv.kv.cache import LiveCache
from chatkv.kv.moves import splice


@torch.inference_mode()
def read_at(kind: str, start: int, text: tuple[int, ...]) -> list[tuple[Tensor, Tensor]]:
    """Keys and values of `text`, nothing before it, read from position `start` on."""
    model = tiny_loaded(kind).model
    cache = LiveCache(model.config)
    places = torch.arange(start, start + len(text))[None]
    cache_argument, _ = feed_arguments(model)
    model(input_ids=torch.tensor([text]), position_ids=places, use_cache=True, **{cache_argument: cache})
    engine = LocalEngine(tiny_loaded(kind))
    engine.cache = cache
    return states(engine)


@pytest.mark.parametrize("kind", MOVABLE)
@pytest.mark.parametrize(("start", "target"), [(1, 0), (700, 3), (1990, 1203)])
def test_a_turning_found_on_seven_tokens_holds_for_any_text_and_distance(
    kind: str, start: int, target: int
) -> None:
    turnings, text = positions.turnings(tiny_loaded(kind)), ids(40, start)
    assert turnings is not None
    there, here = read_at(kind, start, text), read_at(kind, target, text)
    for turning, (keys, values), (wanted, same) in zip(turnings, there, here, strict=True):
        torch.testing.assert_close(turning.shifted(keys, target - start), wanted, **TOLERANCE)
        torch.testing.assert_close(values, same, **TOLERANCE)
        assert not torch.allclose(keys, wanted, atol=1e-2)


@pytest.mark.parametrize("kind", ["hybrid", *UNMOVABLE])
def test_where_keys_cannot_be_turned_nothing_is_moved(kind: str) -> None:
    assert positions.turnings(tiny_loaded(kind)) is None
    assert LocalEngine(tiny_loaded(kind)).turnings is None


@pytest.mark.parametrize("kind", MOVABLE)
def test_what_is_built_beside_is_exact_and_leaves_the_live_kv_as_it_was(kind: str) -> None:
    engine = engine_of(kind)
    before, segments = states(engine), engine.ledger.segments
    engine.fork(WAY.shared, 30)
    assert list(engine.ledger.ids) == list(OLD.ids[: WAY.shared])
    fed(engine, ids(30, 3))
    assert_exact(engine)
    engine.join()
    assert list(engine.ledger.ids) == list(OLD.ids)
    assert engine.ledger.segments == segments
    assert engine.in_step()
    assert_same(engine, before)
    engine.join()
    assert_same(engine, before)


def test_a_fork_makes_the_buffer_larger_if_it_must_and_never_beyond_the_limit() -> None:
    engine = engine_of("llama", rendered((1, ids(250, 4))))
    before = states(engine)
    engine.limit(420)
    assert {layer.capacity for layer in layers(engine)} == {256}
    engine.fork(100, 60)
    fed(engine, ids(60, 5))
    assert {layer.capacity for layer in layers(engine)} == {420}
    assert engine.limit_tokens == 420
    assert_exact(engine)
    engine.join()
    assert_same(engine, before)


def test_a_fork_that_outgrows_its_room_makes_more() -> None:
    engine = engine_of("llama", rendered((1, ids(250, 4))))
    before = states(engine)
    engine.fork(100, 0)
    fed(engine, ids(200, 5))
    assert {layer.capacity for layer in layers(engine)} == {768}
    assert_exact(engine)
    engine.join()
    assert_same(engine, before)


@pytest.mark.parametrize("in_place", [False, True])
def test_logits_of_before_are_not_taken_for_those_of_after(in_place: bool) -> None:
    engine = engine_of("llama")
    gone = len(TURNS[0][1]) + len(TURNS[1][1])
    new = rendered(SYSTEM, (0, ids(gone, 2)), *TURNS[2:])
    assert len(new.ids) == len(engine.ledger)
    spliced(engine, new, splice(OLD, new), in_place=in_place)
    with pytest.raises(AssertionError, match="ledger changed"):
        _ = engine.logits


@pytest.mark.parametrize("kind", MOVABLE)
@pytest.mark.parametrize("in_place", [False, True])
def test_a_graft_is_exact_up_to_the_moves_and_turns_keys_to_their_new_places(
    kind: str, in_place: bool
) -> None:
    engine = engine_of(kind)
    old = states(engine)
    spliced(engine, NEW, WAY, in_place=in_place)
    assert list(engine.ledger.ids) == list(NEW.ids)
    assert engine.in_step()
    assert_exact(engine, end=WAY.built)
    cold = LocalEngine(engine.loaded)
    fed(cold, NEW.ids)
    first, exact = states(engine)[0], states(cold)[0]  # the first layer sees token and position alone
    torch.testing.assert_close(first, exact, **TOLERANCE)
    for (_, values), (_, before) in zip(states(engine), old, strict=True):
        for move in WAY.moves:
            source, target = (slice(at, at + move.n_tokens) for at in (move.source, move.target))
            assert torch.equal(values[:, :, target], before[:, :, source])
    tiers = [segment.tier for segment in engine.ledger.segments for _ in range(segment.n_tokens)]
    assert tiers == ["E0"] * WAY.built + ["E2"] * (len(NEW.ids) - WAY.built)


@pytest.mark.parametrize("in_place", [False, True])
def test_moved_tokens_are_counted_as_held_and_fed_ones_as_new(in_place: bool) -> None:
    engine = engine_of("llama")
    engine.ledger.mark()
    spliced(engine, NEW, WAY, in_place=in_place)
    assert engine.ledger.low == len(NEW.ids) - (WAY.built - WAY.shared)


EVERY = list(itertools.product(MOVABLE, [False, True]))
USUAL = [(kind, in_place) for kind, in_place in EVERY if not in_place or kind in ("llama", "gemma3", "glm")]


@pytest.mark.parametrize(("kind", "in_place"), cases(EVERY, USUAL))
def test_healing_makes_every_key_exact_again(kind: str, in_place: bool) -> None:
    engine = engine_of(kind)
    spliced(engine, NEW, WAY, in_place=in_place)
    more = ids(9, 8)
    fed(engine, more)  # as inexact as the moved keys they saw
    assert engine.ledger.first_of("E2") == WAY.built
    with pytest.raises(AssertionError):
        assert_exact(engine)
    prefiller, healed = Prefiller(engine, 44), 0
    while n := prefiller.heal_step():
        healed += n
        assert len(engine.ledger) == len(NEW.ids) + len(more)
        assert_exact(engine, end=WAY.built + healed)
    assert healed == len(NEW.ids) - WAY.built + len(more)
    assert engine.ledger.first_of("E2") is None
    assert_exact(engine)
    cold = LocalEngine(engine.loaded)
    fed(cold, engine.ledger.ids)
    mine, theirs = next_logits(engine), next_logits(cold)
    torch.testing.assert_close(mine, theirs, atol=1e-3, rtol=1e-3)
    assert int(mine.argmax()) == int(theirs.argmax())


@settings(max_examples=examples(30, 80), deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(4, 40), min_size=2, max_size=6),
    gone=st.sets(st.integers(0, 5)),
    fresh=st.one_of(st.just(0), st.integers(0, 30)),
    twice=st.booleans(),
    kind=st.sampled_from(["llama", "gemma3", "glm"]),
    in_place=st.booleans(),
)
def test_any_turns_may_go_and_go_again(
    sizes: list[int], gone: set[int], fresh: int, twice: bool, kind: str, in_place: bool
) -> None:
    system = (0, ids(8, 1))
    turns = [(n + 1, ids(size, 30 + n)) for n, size in enumerate(sizes)]
    held = rendered(system, *turns)
    engine = engine_of(kind, held)
    for round in range(1 + twice):
        turns = [turn for turn in turns if turn[0] - 1 - round not in gone]
        new = rendered(system, (0, ids(fresh, 50 + round)), *turns)
        way = splice(held, new)
        if not way.moves:
            break
        replaceable = way.built <= way.moves[0].source
        spliced(engine, new, way, in_place=in_place and replaceable)
        assert list(engine.ledger.ids) == list(new.ids[: end_of(way)])
        fed(engine, new.ids[end_of(way) :])
        engine.ledger.relabel(new.segments)
        held = new
        exact = engine.ledger.first_of("E2")
        assert exact == way.built if round == 0 else exact is not None
        assert_exact(engine, end=exact)
    while Prefiller(engine, 64).heal_step():
        pass
    assert_exact(engine)
