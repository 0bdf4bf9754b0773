"""KV as bytes: blocks of 256 tokens of every layer, named by all that leads up to them. Knows no files.

A name is a hash of the name before it, at first the model's fingerprint, and of the block's own ids: conversations that
begin alike share blocks. A block may be there exactly, in int8, or both: the name of one in int8 says so at its end.
Format: https://huggingface.co/docs/safetensors.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from chatkv.errors import DamagedBlockError
from chatkv.kv.cache import LiveCache
from chatkv.kv.layers import GrowingLayer, StateSnapshot
from chatkv.kv.precision import N_SINKS, dequantized, quantized

BLOCK_TOKENS = 256
LAYOUT = "chatkv kv 1"
"""Changes with what is in a block, or in a name: blocks of another layout are never found."""

INT8 = ".int8"
"""What the name of a block in int8 ends with. No block's `parent` does: after either form may come either."""
_PARTS = ("first", "int8", "scale")


def root_name(fingerprint: str) -> str:
    """The name that the first block of a model goes on from."""
    return hashlib.sha256(f"{LAYOUT}\n{fingerprint}".encode()).hexdigest()


def block_name(parent: str, ids: Sequence[int]) -> str:
    """The name of the block that holds `ids` after `parent`."""
    return hashlib.sha256(bytes.fromhex(parent) + struct.pack(f"<{len(ids)}I", *ids)).hexdigest()


def full_names(ids: Sequence[int], fingerprint: str) -> Iterator[str]:
    """The names of all full blocks of `ids`, in order."""
    name = root_name(fingerprint)
    for start in range(0, len(ids) - BLOCK_TOKENS + 1, BLOCK_TOKENS):
        name = block_name(name, ids[start : start + BLOCK_TOKENS])
        yield name


def is_int8(name: str) -> bool:
    """Whether the block of this name is kept in int8."""
    return name.endswith(INT8)


def exact_name(name: str) -> str:
    """The name of the same block, kept exactly."""
    return name.removesuffix(INT8)


@torch.inference_mode()
def packed(cache: LiveCache, name: str, start: int, end: int) -> bytes:
    """Keys and values of positions `start` to `end`, and recurrent states if a checkpoint stands at `end`.

    One tensor a layer and side, [1, kv_heads, n, dim]: `3.keys`, `3.values`; states are `3.conv.0`, `3.recurrent.0`.
    With a name of int8 a side may be three: `3.keys.first` as it is, [1, kv_heads, 4 or 0, dim], for the positions
    that stay exact, `3.keys.int8` [1, kv_heads, n, dim], `3.keys.scale` [1, kv_heads, n, 1]. States stay exact.
    """
    tensors: dict[str, Tensor] = {}
    n_first = min(max(0, N_SINKS - start), end - start)
    for index, layer in enumerate(cache.layers):
        if isinstance(layer, GrowingLayer) and layer.is_initialized:
            assert layer.keys is not None
            assert layer.values is not None
            for side, states in (("keys", layer.keys), ("values", layer.values)):
                held = states[:, :, start:end]
                in_int8 = quantized(held[:, :, n_first:]) if is_int8(name) and n_first < end - start else None
                if in_int8 is None:
                    tensors[f"{index}.{side}"] = held.contiguous().cpu()
                else:
                    parts = (held[:, :, :n_first], *in_int8)
                    for part, tensor in zip(_PARTS, parts, strict=True):
                        tensors[f"{index}.{side}.{part}"] = tensor.contiguous().cpu()
    for index, state in cache.states_at(end).items():
        for kind, saved in (("conv", state.conv), ("recurrent", state.recurrent)):
            for n, value in saved.items():
                if value is not None:
                    tensors[f"{index}.{kind}.{n}"] = value.contiguous().cpu()
    return save(tensors, metadata={"layout": LAYOUT, "name": name, "tokens": str(end - start)})


@torch.inference_mode()
def unpack_into(
    cache: LiveCache, payload: bytes, name: str, at: int, skip: int, take: int, device: str
) -> bool:
    """Append `take` tokens of a block, from its `skip`-th on, to a cache of `at` tokens; states too if it has them.

    Returns whether all of the block is exact, as its bytes say. Raises `DamagedBlockError`, perhaps with the layers
    uneven, if it is not a block of this name and model.
    """
    try:
        tensors = load(payload)
        for index, layer in enumerate(cache.layers):
            if isinstance(layer, GrowingLayer) and _has_side(tensors, f"{index}.keys"):
                sides = (_side(tensors, f"{index}.{side}", device) for side in ("keys", "values"))
                keys, values = (side[:, :, skip : skip + take].to(device) for side in sides)
                if keys.shape[2] != take or values.shape[2] != take:
                    raise ValueError("too short")
                layer.update(keys, values)
        states = {index: _states(tensors, index, device) for index in cache.recurrent_indices()}
    except (SafetensorError, KeyError, ValueError, RuntimeError, IndexError) as error:
        raise DamagedBlockError(f"KV block {name[:12]} does not fit this model.") from error
    if states and all(state is not None for state in states.values()):
        cache.put_states(at + take, {index: state for index, state in states.items() if state is not None})
    return not any(key.endswith(INT8) for key in tensors)


def _has_side(tensors: dict[str, Tensor], side: str) -> bool:
    return side in tensors or f"{side}{INT8}" in tensors


def _side(tensors: dict[str, Tensor], side: str, device: str) -> Tensor:
    """Keys or values [1, kv_heads, n, dim] of a layer, whichever way they are kept."""
    if side in tensors:
        return tensors[side]
    first, values, scales = (tensors[f"{side}.{part}"].to(device) for part in _PARTS)
    behind = dequantized(values, scales, first.dtype)
    return torch.cat((first, behind), dim=2) if first.shape[2] else behind


def _states(tensors: dict[str, Tensor], index: int, device: str) -> StateSnapshot | None:
    found: dict[str, dict[int, Tensor | None]] = {"conv": {}, "recurrent": {}}
    for name, tensor in tensors.items():
        layer, kind, *rest = name.split(".")
        if layer == str(index) and kind in found:
            found[kind][int(rest[0])] = tensor.to(device)
    if not found["conv"] and not found["recurrent"]:
        return None
    return StateSnapshot(
        found["conv"], found["recurrent"], dict.fromkeys(found["conv"] | found["recurrent"], True)
    )
