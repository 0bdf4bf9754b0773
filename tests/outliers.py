"""A model whose keys and values have a few channels far larger than the others, as some real ones do."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch

from chatkv.engine.loader import LoadedModel


@torch.no_grad()
def with_outliers(loaded: LoadedModel, factor: float) -> LoadedModel:
    """The same model but for rounding: channels that are larger in keys and values are smaller where they are read.

    Keys turn in pairs, so a channel and the one half a head further on are scaled alike.
    """
    model = copy.deepcopy(loaded.model)
    config = model.config
    half, dim = config.head_dim // 2, config.head_dim
    groups = config.num_attention_heads // config.num_key_value_heads
    for layer in model.model.layers:
        attention = layer.self_attn
        for head in range(config.num_key_value_heads):
            for channel in (0, half):
                attention.k_proj.weight[head * dim + channel] *= factor
            attention.v_proj.weight[head * dim] *= factor
            for reader in range(head * groups, (head + 1) * groups):
                for channel in (0, half):
                    attention.q_proj.weight[reader * dim + channel] /= factor
                attention.o_proj.weight[:, reader * dim] /= factor
    return replace(loaded, model=model)
