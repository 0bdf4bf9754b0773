"""Two renderings of one conversation, the KV that holds one of them, and what a KV must be: that of a cold prefill."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from tiny import CONFIGS, ROPES, tiny_loaded
from torch import Tensor

from chatkv.engine.local import LocalEngine
from chatkv.kv.layers import GrowingLayer
from chatkv.kv.moves import Splice, splice
from chatkv.tokens import Rendered, Segment

MOVABLE = [*(kind for kind in CONFIGS if kind != "hybrid"), *ROPES]
TOLERANCE: dict[str, Any] = {"atol": 2e-4, "rtol": 2e-4}
Block = tuple[int, Sequence[int]]
"""A turn's number (0: none) and its ids."""


def ids(n: int, seed: int) -> tuple[int, ...]:
    """`n` ids in no order that repeats."""
    return tuple(3 + (seed * 7919 + i * i * 31 + i * 101) % 260 for i in range(n))


def rendered(*blocks: Block) -> Rendered:
    """A rendering made of `blocks`."""
    whole = tuple(token for _, block in blocks for token in block)
    return Rendered(
        whole, tuple(Segment("user" if turn else "system", turn, len(block)) for turn, block in blocks)
    )


SYSTEM, SUMMARY = (0, ids(11, 1)), (0, ids(17, 2))
TURNS: list[Block] = [(n, ids(20 + 5 * n, 10 + n)) for n in range(1, 5)]
OLD = rendered(SYSTEM, *TURNS)
NEW = rendered(SYSTEM, SUMMARY, *TURNS[2:])
"""The first two turns went; a summary came."""
WAY = splice(OLD, NEW)


def engine_of(kind: str, prompt: Rendered = OLD) -> LocalEngine:
    """An engine that holds `prompt`."""
    engine = LocalEngine(tiny_loaded(kind))
    fed(engine, prompt.ids)
    engine.ledger.relabel(prompt.segments)
    return engine


def fed(engine: LocalEngine, more: Sequence[int], chunk: int = 19) -> None:
    """Feed `more` in chunks."""
    for start in range(0, len(more), chunk):
        engine.feed(more[start : start + chunk], "wrapper", 0)


def states(engine: LocalEngine, start: int = 0, end: int | None = None) -> list[tuple[Tensor, Tensor]]:
    """Copies of keys and values of each layer, from position `start` to `end`."""
    return [
        (layer.keys[:, :, start:end].clone(), layer.values[:, :, start:end].clone())
        for layer in layers(engine)
        if layer.keys is not None and layer.values is not None
    ]


def layers(engine: LocalEngine) -> list[GrowingLayer]:
    """The layers of its cache."""
    return [layer for layer in engine.cache.layers if isinstance(layer, GrowingLayer)]


def assert_same(engine: LocalEngine, before: Sequence[tuple[Tensor, Tensor]], n: int | None = None) -> None:
    """The first `n` positions hold the same bytes as `before`."""
    now = states(engine, 0, n)
    assert len(now) == len(before) > 0
    for (keys, values), (old_keys, old_values) in zip(now, before, strict=True):
        assert torch.equal(keys, old_keys[:, :, :n])
        assert torch.equal(values, old_values[:, :, :n])


def assert_exact(engine: LocalEngine, *, start: int = 0, end: int | None = None) -> None:
    """From `start` to `end`, the KV is what a cold prefill of the ledger's ids gives."""
    cold = LocalEngine(engine.loaded)
    fed(cold, engine.ledger.ids)
    assert engine.in_step()
    for mine, theirs in zip(states(engine, start, end), states(cold, start, end), strict=True):
        torch.testing.assert_close(mine, theirs, **TOLERANCE)


def next_logits(engine: LocalEngine) -> Tensor:
    """Scores after one more token."""
    engine.feed([7], "wrapper", 0)
    return engine.logits.clone()


def spliced(engine: LocalEngine, new: Rendered, way: Splice, *, in_place: bool = False) -> None:
    """Make `new` of what the engine holds, beside or in place."""
    fresh = new.ids[way.shared : way.built]
    if in_place:
        engine.replace(way.shared, fresh, way.moves)
    else:
        engine.fork(way.shared, len(fresh))
        fed(engine, fresh)
        engine.graft(way.shared, way.moves)


@contextlib.contextmanager
def failing(model: Any, n_calls: int, error: BaseException) -> Iterator[None]:
    """The `n_calls`-th layer call from now raises `error`, once."""
    left = [n_calls]

    def hit(*_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise error

    hooks = [layer.register_forward_hook(hit) for layer in model.get_decoder().layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def end_of(way: Splice) -> int:
    """Where the last move ends."""
    return way.moves[-1].target + way.moves[-1].n_tokens if way.moves else way.built


def result_of(old: Sequence[Any], new: Sequence[Any], way: Splice) -> list[Any]:
    """What the way leads to, on plain lists: as the layers do it, in place, on one buffer."""
    held = [*old]
    held[way.shared : way.built] = new[way.shared : way.built]
    assert len(held) == max(len(old), way.built)
    for move in way.moves:
        held[move.target : move.target + move.n_tokens] = held[move.source : move.source + move.n_tokens]
    return held[: end_of(way)]
