"""How a model's keys depend on position: asked of the model itself, for every layer, before any key is moved.

Rotary attention sees only distances, so a text read at another place has the same hidden states and, in every
layer, the same keys turned further. Where that does not hold, keys must not be moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from chatkv.engine.loader import LoadedModel, feed_arguments
from chatkv.kv.cache import LiveCache
from chatkv.kv.rotate import Turning, found

_KINDS = frozenset({"default", "linear", "llama3", "yarn"})
"""Frequencies that are the same at every length. `dynamic` and `longrope` change them as the text grows."""
_PROBE_TOKENS = 7
_FURTHEST = 997


def turnings(loaded: LoadedModel) -> tuple[Turning, ...] | None:
    """The turning of each attention layer; None if keys of this model cannot be moved."""
    config = loaded.model.config.get_text_config(decoder=True)
    if not _rope_kinds(config) <= _KINDS or not LiveCache(loaded.model.config).can_move:
        return None
    by = min(_FURTHEST, loaded.context_tokens // 2)
    here, there = _keys(loaded, 0), _keys(loaded, by)
    if not here or len(here) != len(there):
        return None
    frequencies = list(_frequencies(loaded.model))
    layers = [found(a, b, by, frequencies) for a, b in zip(here, there, strict=True)]
    return None if None in layers else tuple(layer for layer in layers if layer is not None)


def _rope_kinds(config: Any) -> frozenset[str]:
    """The kinds of rotary embedding in use; models with several name them by layer type."""
    parameters = getattr(config, "rope_parameters", None) or {}
    tables = (
        [parameters] if "rope_type" in parameters else [v for v in parameters.values() if isinstance(v, dict)]
    )
    return frozenset(str(table.get("rope_type", "default")) for table in tables)


def _frequencies(model: Any) -> Iterator[Tensor]:
    """The inverse frequencies [pairs] that the model holds, each once."""
    seen: list[Tensor] = []
    for name, buffer in model.named_buffers():
        known = any(torch.equal(buffer, other) for other in seen)
        if name.endswith("inv_freq") and "original" not in name and buffer.dim() == 1 and not known:
            seen.append(buffer)
            yield buffer


@torch.inference_mode()
def _keys(loaded: LoadedModel, start: int) -> list[Tensor]:
    """The keys of a short text read from position `start` on."""
    model, cache = loaded.model, LiveCache(loaded.model.config)
    cache_argument, _ = feed_arguments(model)
    spread = torch.arange(_PROBE_TOKENS, device=model.device) * 7919 + 1009
    ids = spread[None] % model.config.get_text_config().vocab_size
    places = torch.arange(start, start + _PROBE_TOKENS, device=model.device)[None]
    model(input_ids=ids, position_ids=places, use_cache=True, **{cache_argument: cache})
    return cache.keys()
