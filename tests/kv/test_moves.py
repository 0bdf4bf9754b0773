"""What is spliced of an old rendering is the new one: on plain lists, moved in place as the layers do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from stretches import Block, end_of, ids, rendered, result_of
from thorough import examples

from chatkv.kv.layers import GrowingLayer
from chatkv.kv.ledger import clip, common_prefix
from chatkv.kv.moves import Move, Splice, splice
from chatkv.kv.rotate import Turning
from chatkv.tokens import Rendered


@dataclass(frozen=True)
class Pair:
    """A rendering before and after."""

    old: Rendered
    new: Rendered


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Turns go, the text before them changes, the first that stays may begin otherwise, the end may be open."""
    sizes = draw(st.lists(st.integers(1, 30), min_size=1, max_size=7))
    # Texts that repeat tempt a comparison of ids to find them in the wrong place.
    alike = draw(st.sampled_from(["not at all", "wholly", "but for the end"]))
    texts: dict[str, Callable[[int, int], tuple[int, ...]]] = {
        "not at all": lambda n, size: ids(size, 10 + n),
        "wholly": lambda n, size: (5,) * size,
        "but for the end": lambda n, size: (*(5,) * size, *ids(5, 10 + n)),
    }
    turns: list[Block] = [(n, texts[alike](n, size)) for n, size in enumerate(sizes, start=1)]
    system = draw(st.integers(0, 20))
    first: Block = (0, ids(system, 1))
    changed: Block = (0, draw(st.sampled_from([first[1], first[1][:-2], ids(system + 3, 1), ids(9, 2)])))
    stays = draw(st.lists(st.booleans(), min_size=len(turns), max_size=len(turns)))
    kept = [turn for turn, stay in zip(turns, stays, strict=True) if stay]
    summary: Block = (0, ids(draw(st.integers(0, 40)), 3))
    if draw(st.integers(0, 4)) == 0:
        kept = draw(st.permutations(kept))
    begins_otherwise = draw(st.booleans())
    if kept and begins_otherwise:
        turn, text = kept[0]
        kept[0] = (turn, (*ids(draw(st.integers(0, 6)), 4), *text[draw(st.integers(0, len(text))) :]))
    if draw(st.booleans()):
        kept.append((len(turns) + 1, ids(draw(st.integers(1, 20)), 5)))
    between = draw(st.integers(0, len(kept)))
    in_front = kept[:between] if draw(st.booleans()) else []
    after = [changed, *in_front, summary, *kept[len(in_front) :]]
    dropped = draw(st.integers(0, 12))
    old = rendered(first, *turns)
    cut = max(0, len(old.ids) - dropped)
    return Pair(_clipped(old, cut), rendered(*after))


def _clipped(prompt: Rendered, n: int) -> Rendered:
    return Rendered(prompt.ids[:n], tuple(clip(prompt.segments, n)))


@settings(max_examples=examples(200, 500), deadline=None, derandomize=True)
@given(pair=pairs())
def test_the_way_leads_to_the_new_rendering_and_never_reads_what_it_overwrote(pair: Pair) -> None:
    old, new = pair.old, pair.new
    way = splice(old, new)
    assert way.shared == common_prefix(old.ids, new.ids)
    assert way.shared <= way.built <= len(new.ids)
    if not way.moves:
        assert way.built == len(new.ids)
        return
    at, read = way.built, way.built
    for move in way.moves:
        assert move.target == at
        assert move.target <= move.source
        assert move.source >= read
        assert move.n_tokens > 0
        at, read = at + move.n_tokens, move.source + move.n_tokens
    assert read <= len(old.ids)
    assert at == end_of(way) <= len(new.ids)
    assert result_of(old.ids, new.ids, way) == list(new.ids[: end_of(way)])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(pair=pairs(), beside=st.booleans())
def test_a_layer_does_what_the_way_says(pair: Pair, beside: bool) -> None:
    old, new = pair.old, pair.new
    way = splice(old, new)
    if not way.moves:
        return
    layer = GrowingLayer()
    layer.update(*_states(old.ids))
    fresh = new.ids[way.shared : way.built]
    if beside:
        layer.fork(way.shared, len(fresh))
    else:
        layer.show(way.shared)
    if fresh:
        layer.update(*_states(fresh))
    if beside:
        layer.graft(way.shared)
    layer.move(way.moves, Turning())
    keys, values = layer.keys, layer.values
    assert keys is not None
    assert values is not None
    assert keys[0, 0, :, 0].long().tolist() == list(new.ids[: end_of(way)])
    assert torch.equal(values, -keys)
    assert layer.n_tokens == end_of(way)
    assert layer.base == 0


def _states(tokens: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    keys = torch.tensor(tokens, dtype=torch.float32).view(1, 1, -1, 1)
    return keys, -keys


SYSTEM, SUMMARY = (0, ids(10, 1)), (0, ids(6, 2))
ONE, TWO, THREE = ((n, ids(20, 10 + n)) for n in (1, 2, 3))


def test_what_stays_in_place_is_shared_and_what_follows_moves_as_one() -> None:
    way = splice(rendered(SYSTEM, ONE, TWO, THREE), rendered(SYSTEM, SUMMARY, TWO, THREE))
    assert way == Splice(10, 16, (Move(30, 16, 40),))


def test_a_pinned_turn_moves_by_itself() -> None:
    way = splice(
        rendered(SYSTEM, ONE, TWO, THREE, (4, ids(9, 9))), rendered(SYSTEM, SUMMARY, TWO, (4, ids(9, 9)))
    )
    assert way == Splice(10, 16, (Move(30, 16, 20), Move(70, 36, 9)))


def test_of_a_turn_that_begins_otherwise_the_rest_is_moved() -> None:
    changed = (2, (*ids(3, 99), *TWO[1][5:]))
    way = splice(rendered(SYSTEM, ONE, TWO, THREE), rendered(SYSTEM, SUMMARY, changed, THREE))
    assert way == Splice(10, 19, (Move(35, 19, 35),))


def test_nothing_moves_to_the_right_or_where_nothing_fits() -> None:
    longer = (0, ids(45, 2))
    whole = len(rendered(SYSTEM, longer, TWO).ids)
    assert splice(rendered(SYSTEM, ONE, TWO), rendered(SYSTEM, longer, TWO)) == Splice(10, whole, ())
    new = rendered((0, ids(5, 77)), (8, ids(30, 8)))
    assert splice(rendered(SYSTEM, ONE, TWO), new) == Splice(0, 35, ())
    empty = Rendered((), ())
    assert splice(empty, new) == Splice(0, 35, ())
    assert splice(new, empty) == Splice(0, 0, ())


def test_equal_renderings_share_everything() -> None:
    held = rendered(SYSTEM, ONE, TWO)
    assert splice(held, held) == Splice(len(held.ids), len(held.ids), ())


def test_turns_that_sound_alike_are_told_apart_by_their_number() -> None:
    """The wrong one has the right ids, but its upper layers saw another text before it."""
    alike = ids(20, 11)
    old = rendered(SYSTEM, (1, alike), (2, alike), (3, alike))
    new = rendered(SYSTEM, SUMMARY, (3, alike))
    assert splice(old, new).moves == (Move(50, 16, 20),)


def test_what_is_shared_is_never_moved_over() -> None:
    """A splice that fails falls back on the shared beginning."""
    second = (2, ((5,) * 20 + ids(6, 12)))
    way = splice(rendered(SYSTEM, (1, (5,) * 20), second), rendered(SYSTEM, second))
    assert way == Splice(30, 30, (Move(50, 30, 6),))
