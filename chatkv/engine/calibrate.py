"""What int8 does to a model's answers: the same tokens read behind its KV as it is, and behind the same in int8.

All of it happens on a copy; the live KV is only read. Knows nothing of files or of what follows from the figures.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from chatkv.engine import device as devices
from chatkv.engine.live import LiveKv
from chatkv.engine.loader import feed_arguments
from chatkv.kv.cache import LiveCache
from chatkv.kv.layers import GrowingLayer
from chatkv.kv.precision import N_SINKS, dequantized, quantized

N_READ = 64
"""Tokens that are read both ways."""
_MOST = 1024
"""More tokens before them tell no more, and a copy of them takes memory."""
_STEP = 16
_MOST_KL = 0.01
_LEAST_AGREEMENT = 0.98


@dataclass(frozen=True, slots=True)
class Calibration:
    """`kl`: mean divergence of int8 from exact over the tokens, in nats. `agreement`: share of equal first choices."""

    kl: float
    agreement: float
    n_tokens: int

    @property
    def is_harmless(self) -> bool:
        """Whether int8 may be used."""
        return self.kl <= _MOST_KL and self.agreement >= _LEAST_AGREEMENT


def calibrated(engine: LiveKv, n_exact: int, least: int) -> Generator[None, None, Calibration | None]:
    """Compare on the first `n_exact` tokens of the live KV, which must be exact; yields between short model calls.

    None where that cannot be now: fewer than `least` tokens fit beside the live KV within the budget (warm
    conversations are left alone), a recurrent model has no checkpoint to begin at, or memory ran out.
    """
    at, end = _stretch(engine, n_exact, least)
    if not at:
        return None
    ids = engine.ledger.ids[at:end]
    found: Calibration | None = None
    try:
        twin = _copied(engine, at, end)
        exact: list[Tensor] = []
        for start in range(0, len(ids), _STEP):
            exact.append(_read(engine, twin, ids[start : start + _STEP], at + start))
            yield
        if twin.truncate(at) != at:
            return None
        _put_through_int8(twin)
        kl, n_equal = 0.0, 0
        for start, wanted in zip(range(0, len(ids), _STEP), exact, strict=True):
            got = _read(engine, twin, ids[start : start + _STEP], at + start)
            kl += float((wanted.exp() * (wanted - got)).sum())
            n_equal += int((wanted.argmax(dim=1) == got.argmax(dim=1)).sum())
            yield
        mean = kl / len(ids)
        found = Calibration(max(0.0, mean) if math.isfinite(mean) else math.inf, n_equal / len(ids), len(ids))
    except Exception as error:
        if not devices.is_out_of_memory(error):
            raise
        devices.drop_scratch(engine.loaded.device)
    return found


def _stretch(engine: LiveKv, n_exact: int, least: int) -> tuple[int, int]:
    """Where reading begins and ends; (0, 0) if nowhere."""
    loaded, cache = engine.loaded, engine.cache
    end = min(n_exact, _MOST)
    if engine.budget_bytes is not None:
        free = engine.budget_bytes - cache.reserved_bytes - engine.parking.nbytes - loaded.fixed_bytes
        end = min(end, free // max(1, loaded.bytes_per_token))
    if end < max(least, N_READ + 1):
        return 0, 0
    at = end - N_READ
    if not cache.can_move:
        at = cache.nearest(at)
        if at < least // 2:
            return 0, 0
    return at, at + N_READ


@torch.inference_mode()
def _copied(engine: LiveKv, at: int, end: int) -> LiveCache:
    """A cache of the first `at` tokens with room for `end`."""
    twin = LiveCache(engine.loaded.model.config)
    twin.limit(end)
    twin.reserve(end)
    twin.begin_like(engine.cache, at)
    states = engine.cache.states_at(at)
    if states:
        twin.put_states(at, states)
    return twin


@torch.inference_mode()
def _put_through_int8(cache: LiveCache) -> None:
    """Make keys and values what they would be after a while on disk."""
    for layer in cache.layers:
        if isinstance(layer, GrowingLayer):
            for states in (layer.keys, layer.values):
                behind = None if states is None else states[:, :, N_SINKS:]
                in_int8 = None if behind is None else quantized(behind)
                if behind is not None and in_int8 is not None:
                    behind.copy_(dequantized(*in_int8, behind.dtype))


@torch.inference_mode()
def _read(engine: LiveKv, cache: LiveCache, ids: Sequence[int], at: int) -> Tensor:
    """Log-probabilities [n, vocab] of what comes after each of `ids`, which `cache` holds afterwards."""
    model, device = engine.loaded.model, engine.loaded.model.device
    argument, keeps_logits = feed_arguments(model)
    options: dict[str, Any] = {"logits_to_keep": len(ids)} if keeps_logits else {}
    out = model(
        input_ids=torch.tensor([list(ids)], device=device),
        position_ids=torch.arange(at, at + len(ids), device=device)[None],
        use_cache=True,
        **{argument: cache},
        **options,
    )
    return out.logits[0, -len(ids) :].float().log_softmax(dim=-1)  # type: ignore[no-any-return]
