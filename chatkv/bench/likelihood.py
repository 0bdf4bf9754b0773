"""How likely a model holds a text to be, on a KV as it stands or read anew. Never touches the live KV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from chatkv.engine.loader import LoadedModel, feed_arguments
from chatkv.kv.cache import LiveCache
from chatkv.kv.layers import GrowingLayer

_CHUNK = 512


@dataclass(frozen=True, slots=True)
class Reading:
    """A text read by a model: log-probabilities [n, vocab] of its tokens from the second on, and these tokens [n]."""

    log_probs: Tensor
    ids: Tensor

    @property
    def perplexity(self) -> float:
        """Of the tokens, given all before them; lower is better."""
        return math.exp(-float(self.log_probs.gather(1, self.ids[:, None]).mean()))

    def divergence(self, exact: Reading) -> tuple[float, float]:
        """Largest Kullback-Leibler divergence, in nats, of a position from `exact`'s; share of equal argmax."""
        kl = (exact.log_probs.exp() * (exact.log_probs - self.log_probs)).sum(dim=1)
        equal = exact.log_probs.argmax(dim=1) == self.log_probs.argmax(dim=1)
        return max(0.0, float(kl.max())), float(equal.float().mean())


def read(loaded: LoadedModel, cache: LiveCache, ids: Sequence[int]) -> Reading:
    """Read `ids` (two at least) behind what `cache` holds; it holds them, too, afterwards."""
    log_probs = _fed(loaded, cache, ids, keep=len(ids))[0, :-1].float().log_softmax(dim=1)
    return Reading(log_probs, torch.tensor(list(ids[1:]), device=log_probs.device))


def joined(readings: Sequence[Reading]) -> Reading:
    """Texts that were read one by one, as one."""
    return Reading(
        torch.cat([reading.log_probs for reading in readings]),
        torch.cat([reading.ids for reading in readings]),
    )


def grown(loaded: LoadedModel, cache: LiveCache | None, ids: Sequence[int]) -> LiveCache:
    """`cache` (None: a new one) after `ids` were prefilled behind what it holds."""
    cache = LiveCache(loaded.model.config) if cache is None else cache
    for start in range(0, len(ids), _CHUNK):
        _fed(loaded, cache, ids[start : start + _CHUNK], keep=1)
    return cache


@torch.inference_mode()
def copied(loaded: LoadedModel, cache: LiveCache, n_tokens: int) -> LiveCache:
    """A copy of the first `n_tokens` that `cache` holds. Only where every layer can be cut (`can_move`)."""
    assert cache.can_move
    twin = LiveCache(loaded.model.config)
    for mine, theirs in zip(twin.layers, cache.layers, strict=True):
        if isinstance(theirs, GrowingLayer) and theirs.keys is not None and theirs.values is not None:
            assert isinstance(mine, GrowingLayer)
            mine.update(theirs.keys[:, :, :n_tokens], theirs.values[:, :, :n_tokens])
    return twin


@torch.inference_mode()
def _fed(loaded: LoadedModel, cache: LiveCache, ids: Sequence[int], *, keep: int) -> Tensor:
    """The logits [1, `keep`, vocab] of the last `keep` of `ids`."""
    argument, keeps_logits = feed_arguments(loaded.model)
    start, device = max(cache.lengths(), default=0), loaded.model.device
    options: dict[str, Any] = {"logits_to_keep": keep} if keeps_logits else {}
    out = loaded.model(
        input_ids=torch.tensor([list(ids)], device=device),
        position_ids=torch.arange(start, start + len(ids), device=device)[None],
        use_cache=True,
        **{argument: cache},
        **options,
    )
    logits: Tensor = out.logits[:, -keep:]
    return logits
