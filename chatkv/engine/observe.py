"""Where a question looks: attention of the last queries of one model call over all keys, in a few layers.

Off except inside `observed`. Costs one small product a layer; changes nothing of what the model computes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

_LAYERS = 3
_MOST_QUERIES = 32


class Observation:
    """Collects the attention mass that each key got, averaged over heads, queries and layers."""

    def __init__(self, n_layers: int) -> None:
        self._layers = {n_layers * part // (_LAYERS + 1) for part in range(1, _LAYERS + 1)}
        self._mass: list[Tensor] = []

    @property
    def mass(self) -> list[float]:
        """By position; sums to about 1. Empty where the model's attention is not chatkv's own."""
        return torch.stack(self._mass).mean(dim=0).tolist() if self._mass else []

    def look(self, module: Any, query: Tensor, key: Tensor, scale: float) -> None:
        """Take in one layer's queries [1, heads, q, dim] and keys [1, kv_heads, n, dim]."""
        if getattr(module, "layer_idx", None) not in self._layers:
            return
        n_keys, n_queries = key.shape[2], min(query.shape[2], _MOST_QUERIES)
        group = query.shape[1] // key.shape[1]
        q = query[0, :, -n_queries:].float().unflatten(0, (key.shape[1], group))
        scores = q @ key[0].float().unsqueeze(1).transpose(-1, -2) * scale
        unseen = torch.ones(n_queries, n_keys, dtype=torch.bool, device=key.device)
        scores = scores.masked_fill(unseen.triu(n_keys - n_queries + 1), float("-inf"))
        self._mass.append(torch.softmax(scores, dim=-1).mean(dim=(0, 1, 2)))


_current: Observation | None = None


@contextlib.contextmanager
def observed(n_layers: int) -> Iterator[Observation]:
    """Collect the attention of the model calls inside, of a model with `n_layers`."""
    global _current
    _current = Observation(n_layers)
    try:
        yield _current
    finally:
        _current = None


def look(module: Any, query: Tensor, key: Tensor, scale: float) -> None:
    """Called by the attention function on every call."""
    if _current is not None:
        _current.look(module, query, key, scale)
