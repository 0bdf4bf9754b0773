"""One layer of the live cache: a growing buffer for attention, states with checkpoints for recurrence.

Both stand behind transformers' own layer interface; nothing else of chatkv touches it. Batch size is always 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import CacheLayerMixin, LinearAttentionLayer

from chatkv.kv.moves import Move
from chatkv.kv.rotate import Turning
from chatkv.kv.sizing import grown_capacity, is_oversized


class GrowingLayer(CacheLayerMixin):
    """Keys and values of one attention layer in one allocation, grown in place of `torch.cat`.

    keys: [1, kv_heads, n, key_dim], values: [1, kv_heads, n, value_dim], both views of `n` of `capacity`
    positions, from `base` on. `base` is 0 except while something is built beside the live positions, in the slack
    behind them. Sliding-window models get the same full-size layer: their mask does the windowing, and any length
    can be cut.
    """

    is_sliding = False
    is_croppable = True

    def __init__(self, limit: int | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.base = 0
        self.n_tokens = 0
        self.capacity = 0
        self.limit = limit
        self._wanted = 0
        self._storage: Tensor | None = None
        self._all_keys: Tensor
        self._all_values: Tensor

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Take shapes, dtype and device from the first states seen."""
        assert key_states.shape[0] == 1, "the live cache holds one conversation, not a batch"
        self.dtype, self.device = key_states.dtype, key_states.device
        self._heads, self._key_dim, self._value_dim = (
            key_states.shape[1],
            key_states.shape[3],
            value_states.shape[3],
        )
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Append states [1, kv_heads, n_new, dim]; return views of all keys and all values."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start, end = self.base + self.n_tokens, self.base + self.n_tokens + key_states.shape[2]
        if end > self.capacity:
            self._resize(grown_capacity(max(end, self._wanted), self.limit))
        self._all_keys[:, :, start:end] = key_states
        self._all_values[:, :, start:end] = value_states
        self.show(end - self.base)
        assert self.keys is not None
        assert self.values is not None
        return self.keys, self.values

    def reserve(self, n_tokens: int) -> None:
        """Make room for `n_tokens` in one step (at the first update if the shapes are not known yet)."""
        self._wanted = n_tokens
        if self.is_initialized and n_tokens > self.capacity:
            self._resize(grown_capacity(n_tokens, self.limit))

    def truncate(self, n_tokens: int) -> None:
        """Keep the first `n_tokens` positions. Exact, and free: only the views move."""
        self._wanted = 0
        if self.is_initialized and n_tokens < self.n_tokens:
            self.show(n_tokens)

    def show(self, n_tokens: int) -> None:
        """Let the views cover `n_tokens` positions, which must have been written."""
        self.n_tokens = n_tokens
        self.keys = self._all_keys[:, :, self.base : self.base + n_tokens]
        self.values = self._all_values[:, :, self.base : self.base + n_tokens]

    def fork(self, n_tokens: int, room: int) -> None:
        """Go on behind the live positions, on a copy of their first `n_tokens`; `room` more tokens will come."""
        assert self.base == 0, "one fork at a time"
        live = self.n_tokens
        if live + n_tokens + room > self.capacity:
            self._resize(grown_capacity(live + n_tokens + room, self.limit))
        for states in (self._all_keys, self._all_values):
            states[:, :, live : live + n_tokens] = states[:, :, :n_tokens]
        self.base = live
        self.show(n_tokens)

    def join(self, n_tokens: int | None = None) -> None:
        """Back to the live positions, all of them or `n_tokens`; the fork is forgotten."""
        live, self.base = self.base, 0
        self.show(live if n_tokens is None else n_tokens)

    def graft(self, shared: int) -> None:
        """Put the fork in place of what the live positions hold from `shared` on; what stands behind it is lost,
        unless it is moved next."""
        live, built = self.base, self.n_tokens
        for states in (self._all_keys, self._all_values):
            states[:, :, shared:built] = states[:, :, live + shared : live + built].clone()
        self.join(built)

    def move(self, moves: Sequence[Move], turning: Turning) -> None:
        """Move positions, held or just cut off, to the left, and end with the last of them.

        The moves are in order, so nothing is overwritten before it is read.
        """
        for move in moves:
            source, target = (slice(at, at + move.n_tokens) for at in (move.source, move.target))
            keys = self._all_keys[:, :, source]
            self._all_keys[:, :, target] = turning.shifted(keys, move.target - move.source)
            self._all_values[:, :, target] = self._all_values[:, :, source].clone()
            self.show(move.target + move.n_tokens)

    def give_back(self) -> None:
        """Return slack that is out of proportion to what is used."""
        self._wanted = 0
        if self.n_tokens == 0:
            self._storage = self.keys = self.values = None
            self.capacity, self.is_initialized = 0, False
        elif is_oversized(self.capacity, self.n_tokens):
            self._resize(grown_capacity(self.n_tokens, self.limit))

    def shrink(self, n_tokens: int) -> None:
        """Hold no more than `n_tokens` reserved, unless more are in use."""
        if self.capacity > n_tokens:
            self._resize(max(self.n_tokens, n_tokens))

    def crop(self, tokens_to_remove: int) -> None:
        """transformers' spelling of `truncate`: a negative number of tokens to drop from the end."""
        self.truncate(max(0, self.n_tokens - abs(tokens_to_remove)))

    def reset(self) -> None:
        """Forget everything, keep the buffer."""
        self.truncate(0)

    def get_seq_length(self) -> int:
        """Tokens held."""
        return self.n_tokens

    def get_max_length(self) -> int:
        """-1: no maximum of its own."""
        return -1

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """(key length, offset) after `query_length` more tokens."""
        return self.n_tokens + query_length, 0

    @property
    def used_bytes(self) -> int:
        """Bytes of the positions in use, those of a fork among them."""
        return self._bytes_of(self.base + self.n_tokens)

    @property
    def forked_bytes(self) -> int:
        """Bytes of the fork."""
        return self._bytes_of(self.n_tokens) if self.base else 0

    @property
    def reserved_bytes(self) -> int:
        """Bytes of the whole allocation, read from the tensor's storage."""
        return 0 if self._storage is None else self._storage.untyped_storage().nbytes()

    def _bytes_of(self, n_tokens: int) -> int:
        if self._storage is None:
            return 0
        return n_tokens * self._heads * (self._key_dim + self._value_dim) * self._storage.element_size()

    def _resize(self, capacity: int) -> None:
        n_keys = self._heads * capacity * self._key_dim
        n_values = self._heads * capacity * self._value_dim
        storage = torch.empty(n_keys + n_values, dtype=self.dtype, device=self.device)
        keys = storage[:n_keys].view(1, self._heads, capacity, self._key_dim)
        values = storage[n_keys:].view(1, self._heads, capacity, self._value_dim)
        held = self.base + self.n_tokens
        if held:
            keys[:, :, :held] = self._all_keys[:, :, :held]
            values[:, :, :held] = self._all_values[:, :, :held]
        self._storage, self._all_keys, self._all_values, self.capacity = storage, keys, values, capacity
        self.show(self.n_tokens)


@dataclass(frozen=True, slots=True)
class StateSnapshot:
    """Cloned states of one recurrent layer, by state index."""

    conv: dict[int, Tensor | None]
    recurrent: dict[int, Tensor | None]
    has_previous: dict[int, bool]

    @property
    def nbytes(self) -> int:
        """Bytes of the clones."""
        return _state_bytes(self.conv) + _state_bytes(self.recurrent)


class StateLayer(LinearAttentionLayer):
    """Recurrent states of one linear-attention or convolution layer. Cannot be cut, only saved and restored."""

    def snapshot(self) -> StateSnapshot:
        """Clone the states as they stand."""
        return StateSnapshot(
            _clones(self.conv_states), _clones(self.recurrent_states), dict(self.has_previous_state)
        )

    def restore(self, saved: StateSnapshot) -> None:
        """Put cloned states back, bit for bit, also into a layer that has seen nothing yet."""
        for index, tensor in saved.conv.items():
            if tensor is not None and self.conv_states[index] is None:
                StateLayer.lazy_initialization(self, conv_states=tensor, state_idx=index)
        for index, tensor in saved.recurrent.items():
            if tensor is not None and self.recurrent_states[index] is None:
                StateLayer.lazy_initialization(self, recurrent_states=tensor, state_idx=index)
        for mine, theirs in ((self.conv_states, saved.conv), (self.recurrent_states, saved.recurrent)):
            for index, tensor in theirs.items():
                state = mine[index]
                if tensor is not None and state is not None:
                    state.copy_(tensor)
        self.has_previous_state.update(saved.has_previous)

    @property
    def reserved_bytes(self) -> int:
        """Bytes of the states."""
        return _state_bytes(self.conv_states) + _state_bytes(self.recurrent_states)

    @property
    def used_bytes(self) -> int:
        """States have a fixed size: all of it is in use once anything was fed."""
        return self.reserved_bytes if any(self.has_previous_state.values()) else 0


class HybridLayer(StateLayer, GrowingLayer):  # type: ignore[misc]
    """A layer that holds both: attention's buffer and recurrent states."""

    is_compileable = False
    is_croppable = False

    def __init__(self, number_of_states: int = 1, limit: int | None = None) -> None:
        GrowingLayer.__init__(self, limit)
        StateLayer.__init__(self, number_of_states=number_of_states)

    def lazy_initialization(self, *args: Any, **kwargs: Any) -> None:
        """Attention calls it with two tensors in order, recurrence with names."""
        if args:
            GrowingLayer.lazy_initialization(self, *args)
        else:
            StateLayer.lazy_initialization(self, **kwargs)

    def reset(self) -> None:
        """Forget both halves."""
        StateLayer.reset(self)
        GrowingLayer.truncate(self, 0)

    def crop(self, tokens_to_remove: int) -> None:
        """Refused: the recurrent half cannot be cut."""
        raise RuntimeError("a hybrid layer is restored from a checkpoint, never cropped")

    @property
    def reserved_bytes(self) -> int:
        """Bytes of both halves."""
        return StateLayer.reserved_bytes.fget(self) + GrowingLayer.reserved_bytes.fget(self)  # type: ignore[attr-defined, no-any-return]

    @property
    def used_bytes(self) -> int:
        """Bytes of both halves in use."""
        return StateLayer.used_bytes.fget(self) + GrowingLayer.used_bytes.fget(self)  # type: ignore[attr-defined, no-any-return]


def _clones(states: dict[int, Tensor | None]) -> dict[int, Tensor | None]:
    return {index: None if tensor is None else tensor.clone() for index, tensor in states.items()}


def _state_bytes(states: dict[int, Tensor | None]) -> int:
    return sum(tensor.untyped_storage().nbytes() for tensor in states.values() if tensor is not None)
