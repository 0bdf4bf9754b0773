"""What a model takes in memory, as far as its files tell without loading it: weights, and KV for each token.

Plain arithmetic on configuration and headers; what is estimated is called about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from chatkv.errors import ModelError
from chatkv.models.check import read_json, weight_files
from chatkv.models.gguf_file import read_gguf

_BYTES = 2
"""Of an element: weights and KV are bfloat16 or float16."""


@dataclass(frozen=True, slots=True)
class Shape:
    """About what a model takes. 0 = not known."""

    weights_nbytes: int = 0
    kv_nbytes: int = 0
    """For each token in the context."""
    context: int = 0
    """Tokens it was made for."""

    def tokens_in(self, free_nbytes: int) -> int:
        """How many tokens of context fit beside the weights; negative where the weights alone do not fit."""
        left = free_nbytes - self.weights_nbytes
        if left < 0 or not self.kv_nbytes:
            return min(left, 0)
        return min(left // self.kv_nbytes, self.context or left)


def shape_of(path: Path) -> Shape:
    """The shape of a model folder or GGUF file; all 0 where it does not tell."""
    try:
        return _of_folder(path) if path.is_dir() else _of_gguf(path)
    except (ModelError, OSError, TypeError, ValueError):
        return Shape()


def _of_folder(folder: Path) -> Shape:
    config = read_json(folder / "config.json")
    inner = config.get("text_config")
    text = {**config, **inner} if isinstance(inner, dict) else config
    nbytes = sum(file.stat().st_size for file in weight_files(folder))
    if text.get("dtype", text.get("torch_dtype")) == "float32":
        nbytes //= 2  # loaded as bfloat16
    return Shape(nbytes, _kv_nbytes(text), _whole(text, "max_position_embeddings"))


def _kv_nbytes(config: Mapping[str, Any]) -> int:
    """Keys and values of all layers. Layers with linear attention have states of one size, which are left out."""
    heads = _whole(config, "num_attention_heads")
    layers = _whole(config, "num_hidden_layers")
    kinds = config.get("layer_types")
    if isinstance(kinds, list):
        layers = sum("linear" not in str(kind) for kind in kinds)
    kv_heads = _whole(config, "num_key_value_heads") or heads
    head_size = _whole(config, "head_dim") or (_whole(config, "hidden_size") // heads if heads else 0)
    return 2 * layers * kv_heads * head_size * _BYTES


def _of_gguf(file: Path) -> Shape:
    """Its tensors are unpacked when it is loaded, however few bits they have in the file."""
    header = read_gguf(file)
    kind = header.fields.get("general.architecture", "")
    fields = {
        name.removeprefix(f"{kind}."): value
        for name, value in header.fields.items()
        if name.startswith(f"{kind}.")
    }
    heads = _whole(fields, "attention.head_count")
    head_size = _whole(fields, "attention.key_length") or (
        _whole(fields, "embedding_length") // heads if heads else 0
    )
    kv_heads = _whole(fields, "attention.head_count_kv") or heads
    kv_nbytes = 2 * _whole(fields, "block_count") * kv_heads * head_size * _BYTES
    weights = sum(prod(tensor.shape) for tensor in header.tensors) * _BYTES
    return Shape(weights, kv_nbytes, _whole(fields, "context_length"))


def _whole(table: Mapping[str, Any], name: str) -> int:
    value = table.get(name)
    return value if type(value) is int and value > 0 else 0
