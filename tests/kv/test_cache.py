"""A whole model's cache: the right layer for each kind, and the way back that its layers allow."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny import CONFIGS, tiny_model

from chatkv.kv.cache import KEPT_CHECKPOINTS, LiveCache


def feed(model: Any, cache: LiveCache, start: int, ids: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(start, start + ids.shape[1])[None]
    with torch.inference_mode():
        logits: torch.Tensor = model(
            input_ids=ids, position_ids=positions, cache=cache, use_cache=True
        ).logits
    return logits


@pytest.mark.parametrize("kind", [kind for kind in CONFIGS if kind != "hybrid"])
def test_attention_layers_are_cut_anywhere(kind: str) -> None:
    model, ids = tiny_model(kind), torch.randint(3, 250, (1, 80))
    cache = LiveCache(model.config)
    assert cache.rollback == "cut"
    feed(model, cache, 0, ids[:, :33])
    expected = feed(model, cache, 33, ids[:, 33:])
    assert cache.truncate(33) == 33
    assert set(cache.lengths()) == {33}
    assert torch.equal(feed(model, cache, 33, ids[:, 33:]), expected)


def test_recurrent_layers_go_back_to_the_nearest_checkpoint() -> None:
    model, ids = tiny_model("hybrid"), torch.randint(3, 250, (1, 60))
    cache = LiveCache(model.config)
    assert cache.rollback == "checkpoint"
    feed(model, cache, 0, ids[:, :20])
    cache.checkpoint(20)
    expected = feed(model, cache, 20, ids[:, 20:40])
    assert cache.truncate(39) == 20
    assert set(cache.lengths()) == {20}
    assert torch.equal(feed(model, cache, 20, ids[:, 20:40]), expected)
    assert cache.truncate(19) == 0
    fresh = LiveCache(model.config)
    assert torch.equal(feed(model, cache, 0, ids[:, :20]), feed(model, fresh, 0, ids[:, :20]))


def test_checkpoints_are_bounded_and_counted() -> None:
    model = tiny_model("hybrid")
    cache = LiveCache(model.config)
    for n in range(1, 40):
        feed(model, cache, n - 1, torch.tensor([[5]]))
        before = cache.used_bytes
        cache.checkpoint(n)
        if n > KEPT_CHECKPOINTS:
            assert cache.used_bytes == before
        else:
            assert cache.used_bytes > before
    assert cache.truncate(39) == 39
    assert cache.truncate(2) == 1


def test_bytes_are_those_of_the_tensors() -> None:
    model = tiny_model("llama")
    cache = LiveCache(model.config)
    assert cache.used_bytes == cache.reserved_bytes == 0
    feed(model, cache, 0, torch.randint(3, 250, (1, 50)))
    assert cache.used_bytes == 50 * 2 * 2 * (8 + 8) * 4
    cache.truncate(10)
    assert cache.used_bytes == 10 * 2 * 2 * (8 + 8) * 4
    cache.truncate(0)
    cache.give_back()
    assert cache.reserved_bytes == 0


def test_a_layer_kind_that_can_do_neither_goes_back_to_empty() -> None:
    config = CONFIGS["llama"]()
    config.layer_types = ["indexed_attention", "full_attention"]
    cache = LiveCache(config)
    assert cache.rollback == "rebuild"
    for layer in range(2):
        cache.update(torch.ones(1, 2, 5, 8), torch.ones(1, 2, 5, 8), layer)
    assert cache.truncate(4) == 0
    assert cache.get_seq_length(0) == cache.get_seq_length(1) == 0
