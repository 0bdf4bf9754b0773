"""The live cache of a whole model: builds a layer of the right kind for each of the model's, cuts and restores.

What each kind of layer can do decides how the cache rolls back: attention layers are cut anywhere; recurrent ones
go back to the nearest checkpoint; a kind that can do neither sends everything back to empty, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.cache_utils import DYNAMIC_LAYER_TYPE_MAPPING, Cache, DummyLayer, get_layer_types_and_kwargs

from chatkv.kv.layers import GrowingLayer, HybridLayer, StateLayer, StateSnapshot
from chatkv.kv.moves import Move
from chatkv.kv.rotate import Turning

Rollback = Literal["cut", "checkpoint", "rebuild"]
"""How the cache goes back: to any length, to a checkpoint, or only to empty."""

KEPT_CHECKPOINTS = 16
_ATTENTION = ("full_attention", "sliding_attention", "chunked_attention")
_RECURRENT = ("linear_attention", "conv")
_HYBRID = ("hybrid", "hybrid_sliding")


class LiveCache(Cache):
    """transformers' `Cache` over chatkv's layers, for one conversation of one model.

    Source of the layer kinds: `transformers.cache_utils.get_layer_types_and_kwargs`.
    """

    def __init__(self, config: PreTrainedConfig) -> None:
        types, kwargs = get_layer_types_and_kwargs(config.get_text_config(decoder=True))
        super().__init__(layers=[_layer(kind, options) for kind, options in zip(types, kwargs, strict=True)])
        self.rollback = self._rollback_kind()
        self._checkpoints: dict[int, list[StateSnapshot]] = {}

    def nearest(self, n_tokens: int) -> int:
        """The length that `truncate(n_tokens)` would leave."""
        if self.rollback == "checkpoint":
            return max((at for at in self._checkpoints if at <= n_tokens), default=0)
        return n_tokens if self.rollback == "cut" else 0

    @torch.inference_mode()
    def truncate(self, n_tokens: int) -> int:
        """Go back to `n_tokens`, or to the longest shorter length that every layer can reach; return that length.

        Never raises, so that a layer that failed half way through a model call is always brought in line.
        """
        lengths = self.lengths()
        if lengths and max(lengths) == min(lengths) == n_tokens and self.rollback == "cut":
            return n_tokens
        kept = self.nearest(n_tokens)
        if self.rollback == "checkpoint":
            self._restore(kept)
        elif self.rollback == "rebuild":
            self._rebuild()
        for layer in self.layers:
            if isinstance(layer, GrowingLayer):
                GrowingLayer.truncate(layer, kept)
        return kept

    def checkpoint(self, n_tokens: int) -> None:
        """Save recurrent states at length `n_tokens` (no-op where layers can be cut); the oldest but one goes first."""
        if self.rollback != "checkpoint" or n_tokens == 0 or n_tokens in self._checkpoints:
            return
        self._checkpoints[n_tokens] = [
            layer.snapshot() for layer in self.layers if isinstance(layer, StateLayer)
        ]
        if len(self._checkpoints) > KEPT_CHECKPOINTS:
            del self._checkpoints[sorted(self._checkpoints)[1]]

    def states_at(self, n_tokens: int) -> dict[int, StateSnapshot]:
        """By layer: the recurrent states saved at length `n_tokens`; empty where none were, or there are none."""
        saved = self._checkpoints.get(n_tokens, [])
        return dict(zip(self.recurrent_indices(), saved, strict=False))

    @torch.inference_mode()
    def put_states(self, n_tokens: int, states: dict[int, StateSnapshot]) -> None:
        """Make `states`, one of each recurrent layer, those of a cache that holds `n_tokens`, and a checkpoint."""
        self._checkpoints[n_tokens] = [states[index] for index in self.recurrent_indices()]
        self._restore(n_tokens)

    def recurrent_indices(self) -> list[int]:
        """Which layers have recurrent states."""
        return [index for index, layer in enumerate(self.layers) if isinstance(layer, StateLayer)]

    def reserve(self, n_tokens: int) -> None:
        """Make room for `n_tokens` in every attention layer at once."""
        for layer in self._growing():
            layer.reserve(n_tokens)

    def limit(self, n_tokens: int | None) -> None:
        """Never reserve slack beyond `n_tokens` (the budget)."""
        for layer in self._growing():
            layer.limit = n_tokens

    def shrink(self, n_tokens: int) -> None:
        """Hold no more than `n_tokens` reserved, unless more are in use."""
        for layer in self._growing():
            layer.shrink(n_tokens)

    def give_back(self) -> None:
        """Return slack that is out of proportion."""
        for layer in self._growing():
            layer.give_back()

    @property
    def can_move(self) -> bool:
        """Whether every layer keeps its positions apart, so that they can be copied, overwritten and moved."""
        return self.rollback == "cut"

    @torch.inference_mode()
    def fork(self, n_tokens: int, room: int) -> None:
        """Build beside the live positions, on a copy of the first `n_tokens`; see `GrowingLayer.fork`."""
        for layer in self._growing():
            layer.fork(n_tokens, room)

    def join(self, n_tokens: int | None = None) -> None:
        """Forget what is built beside, in whichever layers it was begun; go on with the live positions."""
        for layer in self._growing():
            if layer.base:
                layer.join(n_tokens)
            elif n_tokens is not None and layer.is_initialized:
                layer.show(min(n_tokens, layer.n_tokens))

    @torch.inference_mode()
    def graft(self, shared: int) -> None:
        """Make what is built beside the new beginning; see `GrowingLayer.graft`."""
        for layer in self._growing():
            layer.graft(shared)

    @torch.inference_mode()
    def move(self, moves: Sequence[Move], turnings: Sequence[Turning]) -> None:
        """Move positions to the left, keys turned to their new places; one turning a layer."""
        for layer, turning in zip(self._growing(), turnings, strict=True):
            layer.move(moves, turning)

    def show(self, n_tokens: int) -> None:
        """Let every layer's views cover `n_tokens` positions, which must have been written."""
        for layer in self._growing():
            layer.show(n_tokens)

    def keys(self) -> list[Tensor]:
        """The keys [1, kv_heads, n, dim] of each attention layer."""
        return [layer.keys for layer in self._growing() if layer.keys is not None]

    @torch.inference_mode()
    def begin_like(self, other: LiveCache, n_tokens: int) -> None:
        """Copy the first `n_tokens` of another cache of the same model into this empty one."""
        for mine, theirs in zip(self._growing(), other._growing(), strict=True):
            if theirs.keys is not None and theirs.values is not None:
                mine.update(theirs.keys[:, :, :n_tokens], theirs.values[:, :, :n_tokens])

    def at(self, position: int) -> list[Tensor]:
        """Copies of the keys and values [1, kv_heads, 1, dim] of one position, layer by layer."""
        layers = [layer for layer in self._growing() if layer.keys is not None and layer.values is not None]
        sides = [side for layer in layers for side in (layer.keys, layer.values)]
        return [side[:, :, position : position + 1].clone() for side in sides if side is not None]

    def lengths(self) -> list[int]:
        """Tokens held by each attention layer; all equal except inside a model call."""
        return [layer.n_tokens for layer in self._growing()]

    @property
    def used_bytes(self) -> int:
        """Bytes in use: positions held, states and their checkpoints."""
        return sum(_bytes(layer, "used_bytes") for layer in self.layers) + self._checkpoint_bytes()

    @property
    def reserved_bytes(self) -> int:
        """Bytes allocated, read from the storages."""
        return sum(_bytes(layer, "reserved_bytes") for layer in self.layers) + self._checkpoint_bytes()

    @property
    def second_bytes(self) -> int:
        """Bytes of what is being built beside the live positions; they are among the reserved ones."""
        return sum(layer.forked_bytes for layer in self._growing())

    def _growing(self) -> list[GrowingLayer]:
        return [layer for layer in self.layers if isinstance(layer, GrowingLayer)]

    def _checkpoint_bytes(self) -> int:
        return sum(saved.nbytes for layers in self._checkpoints.values() for saved in layers)

    def _rollback_kind(self) -> Rollback:
        if all(
            isinstance(layer, GrowingLayer | DummyLayer) and layer.is_croppable for layer in self._stateful()
        ):
            return "cut"
        known = all(isinstance(layer, GrowingLayer | StateLayer) for layer in self._stateful())
        return "checkpoint" if known else "rebuild"

    def _stateful(self) -> list[Any]:
        return [layer for layer in self.layers if not isinstance(layer, DummyLayer)]

    def _restore(self, at: int) -> None:
        for stale in [n for n in self._checkpoints if n > at]:
            del self._checkpoints[stale]
        states = [layer for layer in self.layers if isinstance(layer, StateLayer)]
        if at == 0:
            for layer in states:
                StateLayer.reset(layer)
            return
        for layer, saved in zip(states, self._checkpoints[at], strict=True):
            layer.restore(saved)

    def _rebuild(self) -> None:
        for layer in self.layers:
            layer.reset()


def _layer(kind: str, options: dict[str, Any]) -> Any:
    if kind in _ATTENTION:
        return GrowingLayer()
    if kind in _RECURRENT:
        return StateLayer(**options)
    if kind in _HYBRID:
        return HybridLayer(number_of_states=options["number_of_states"])
    return DYNAMIC_LAYER_TYPE_MAPPING[kind](**options)


def _bytes(layer: Any, name: str) -> int:
    if isinstance(layer, GrowingLayer | StateLayer):
        return int(getattr(layer, name))
    tensors = [value for value in vars(layer).values() if isinstance(value, Tensor)]
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)
