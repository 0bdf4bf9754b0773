"""Attention over a long live cache: grouped heads folded, keys never repeated, no q x kv mask for a causal rule.

Registered with transformers under the name `chatkv`; any model that goes through its attention interface can use
it. Shapes: query [1, heads, q, dim], key and value [1, kv_heads, n, dim], output [1, q, heads, value_dim].
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from chatkv.engine import observe
from chatkv.engine.widen import NARROW_ROWS

NAME = "chatkv"


def register(*, widen: bool = False) -> None:
    """Make `attn_implementation="chatkv"` known to transformers. `widen`: prefill in float32 (see `widen.py`)."""
    AttentionInterface.register(NAME, attend_wide if widen else attend)
    AttentionMaskInterface.register(NAME, causal_mask)


def causal_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int = 0,
    kv_offset: int = 0,
    attention_mask: Tensor | None = None,
    local_size: int | None = None,
    allow_is_causal_skip: bool = True,
    **kwargs: Any,
) -> Tensor | None:
    """None where the rule is "each query sees every key up to its own", else transformers' boolean mask.

    Unlike transformers' own SDPA mask this also holds when the keys are longer than the queries: `attend` reads
    None as causal aligned to the last key.
    """
    whole = local_size is None or kv_length < local_size
    aligned = q_offset + q_length == kv_offset + kv_length
    if allow_is_causal_skip and attention_mask is None and whole and aligned:
        return None
    return sdpa_mask(
        batch_size,
        q_length,
        kv_length,
        q_offset,
        kv_offset,
        attention_mask=attention_mask,
        local_size=local_size,
        allow_is_causal_skip=False,
        **kwargs,
    )


def attend(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Softmax attention of `query` over the cache; see the module for shapes. Returns (output, None)."""
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    observe.look(module, query, key, scale)
    if attention_mask is not None and sliding_window is not None:
        key, value, attention_mask = _within_window(query, key, value, attention_mask, sliding_window)
    if softcap is not None or s_aux is not None:
        out = _explicit(query, key, value, attention_mask, scale, softcap, s_aux)
    elif query.shape[2] == 1:
        out = _one_query(query, key, value, attention_mask, scale)
    elif attention_mask is not None:
        out = _grouped(query, key, value, scale, mask=attention_mask)
    elif query.shape[2] == key.shape[2]:
        out = _grouped(query, key, value, scale, is_causal=True)
    else:
        out = _continued(query, key, value, scale)
    return out.transpose(1, 2).contiguous(), None


def attend_wide(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """`attend`, in float32 for more than a few queries."""
    if query.shape[2] <= NARROW_ROWS:
        return attend(module, query, key, value, attention_mask, **kwargs)
    out, _ = attend(module, query.float(), key.float(), value.float(), attention_mask, **kwargs)
    return out.to(query.dtype), None


def _within_window(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, window: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Leave out keys that no query of this call can see."""
    seen = min(key.shape[2], window + query.shape[2] - 1)
    return key[:, :, -seen:], value[:, :, -seen:], mask[..., -seen:]


def _one_query(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Decode: the heads that share a key head become its queries, so each key is read once."""
    _, heads, _, dim = query.shape
    kv_heads = key.shape[1]
    folded = query.view(1, kv_heads, heads // kv_heads, dim)
    out = F.scaled_dot_product_attention(folded, key, value, attn_mask=mask, scale=scale)
    return out.reshape(1, heads, 1, value.shape[-1])


def _grouped(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    mask: Tensor | None = None,
    is_causal: bool = False,
) -> Tensor:
    """Prefill: CUDA's kernels know groups; elsewhere the key heads are expanded as a view of stride 0."""
    _, heads, q_length, _ = query.shape
    kv_heads = key.shape[1]
    if query.is_cuda or kv_heads == heads:
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=is_causal, scale=scale, enable_gqa=kv_heads != heads
        )
    q, k, v = _expanded(query, key, value)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale)
    return out.reshape(1, heads, q_length, value.shape[-1])


def _continued(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    """Prefill on a cache: causal, aligned to the last key."""
    heads, q_length = query.shape[1:3]
    if query.is_cuda:
        from torch.nn.attention.bias import (
            causal_lower_right,
        )  # loads torch's compiler: seconds on a small machine

        bias: Any = causal_lower_right(q_length, key.shape[2])
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=bias, scale=scale, enable_gqa=key.shape[1] != heads
        )
    if query.device.type != "cpu" or key.shape[-1] != value.shape[-1]:
        mask = torch.ones(q_length, key.shape[2], dtype=torch.bool, device=query.device)
        return _grouped(query, key, value, scale, mask=mask.tril(key.shape[2] - q_length))
    return _old_and_new(query, key, value, scale)


def _old_and_new(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    """Attend to the old keys (all visible) and to the new ones (causal), and merge by their log-sum-exps.

    The merge is exact: softmax over both parts = parts weighted by their share of the normalizer (Milakov and
    Gimelshein, "Online normalizer calculation for softmax", 2018).
    """
    _, heads, q_length, _ = query.shape
    n_old = key.shape[2] - q_length
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    q, k, v = _expanded(query, key[:, :, :n_old], value[:, :, :n_old])
    old, old_lse = flash(q, k, v, scale=scale)
    q, k, v = _expanded(query, key[:, :, n_old:], value[:, :, n_old:])
    new, new_lse = flash(q, k, v, is_causal=True, scale=scale)
    share = torch.sigmoid(old_lse - new_lse).unsqueeze(-1)
    return torch.lerp(new.float(), old.float(), share).to(new.dtype).reshape(1, heads, q_length, -1)


def _expanded(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """[kv_heads, group, n, dim] each; keys and values are views that repeat nothing in memory."""
    kv_heads = key.shape[1]
    group = query.shape[1] // kv_heads
    q = query[0].unflatten(0, (kv_heads, group))
    k = key[0].unsqueeze(1).expand(-1, group, -1, -1)
    v = value[0].unsqueeze(1).expand(-1, group, -1, -1)
    return q, k, v


def _explicit(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scale: float,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    """Scores in the open, for models that bend them: soft capping (Gemma 2), attention sinks (GPT-OSS)."""
    _, heads, q_length, _ = query.shape
    q, k, v = _expanded(query, key, value)
    scores = (q @ k.transpose(-1, -2)).float() * scale
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if mask is None:
        n_keys = key.shape[2]
        mask = torch.ones(q_length, n_keys, dtype=torch.bool, device=query.device).tril(n_keys - q_length)
    scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    if sinks is not None:
        column = sinks.float().view(*q.shape[:2], 1, 1).expand(-1, -1, q_length, 1)
        scores = torch.cat([scores, column], dim=-1)
    weights = torch.softmax(scores, dim=-1)[..., : key.shape[2]]
    return (weights.to(v.dtype) @ v).reshape(1, heads, q_length, value.shape[-1])
