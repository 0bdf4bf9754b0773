"""chatkv's attention gives what plain softmax attention gives, for every shape a live cache makes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import CONFIGS, WINDOW, reference_model, tiny_model
from torch import Tensor

from chatkv.engine.attention import attend, causal_mask
from chatkv.kv.cache import LiveCache


def plain(query: Tensor, key: Tensor, value: Tensor, *, window: int | None, softcap: float | None) -> Tensor:
    """Textbook attention in float64 with repeated heads: [1, q, heads, value_dim]."""
    group = query.shape[1] // key.shape[1]
    keys, values = (t.double().repeat_interleave(group, dim=1) for t in (key, value))
    scores = query.double() @ keys.transpose(-1, -2) * query.shape[-1] ** -0.5
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    at = torch.arange(query.shape[2])[:, None] + key.shape[2] - query.shape[2]
    other = torch.arange(key.shape[2])[None]
    seen = other <= at if window is None else (other <= at) & (other > at - window)
    return (torch.softmax(scores.masked_fill(~seen, float("-inf")), dim=-1) @ values).transpose(1, 2)


@settings(max_examples=80, deadline=None)
@given(
    n_old=st.integers(0, 70),
    n_new=st.integers(1, 40),
    heads=st.sampled_from([(1, 1), (4, 4), (4, 2), (9, 3), (6, 1)]),
    window=st.one_of(st.none(), st.integers(1, 60)),
    softcap=st.one_of(st.none(), st.none(), st.just(3.0)),
    value_dim=st.sampled_from([8, 8, 12]),
)
def test_equals_plain_attention(
    n_old: int, n_new: int, heads: tuple[int, int], window: int | None, softcap: float | None, value_dim: int
) -> None:
    torch.manual_seed(n_old * 100 + n_new)
    n_heads, n_kv_heads = heads
    query = torch.randn(1, n_heads, n_new, 8)
    storage = torch.randn(1, n_kv_heads, n_old + n_new + 5, 8 + value_dim)
    key, value = storage[:, :, : n_old + n_new, :8], storage[:, :, : n_old + n_new, 8:]
    mask = causal_mask(
        1,
        n_new,
        n_old + n_new,
        n_old,
        local_size=window,
        mask_function=_rule(window),
        allow_is_causal_skip=True,
    )
    out, _ = attend(torch.nn.Module(), query, key, value, mask, sliding_window=window, softcap=softcap)
    expected = plain(query, key, value, window=window, softcap=softcap)
    torch.testing.assert_close(out.double(), expected, atol=3e-5, rtol=1e-4)


def _rule(window: int | None):  # type: ignore[no-untyped-def]
    def rule(batch: Tensor, head: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        return (kv <= q) if window is None else (kv <= q) & (kv > q - window)

    return rule


def test_a_causal_rule_needs_no_mask() -> None:
    assert causal_mask(1, 64, 4096, 4032) is None
    assert causal_mask(1, 1, 4096, 4095, local_size=8192) is None


def test_sinks_take_their_share() -> None:
    query, key, value = torch.randn(1, 2, 1, 8), torch.randn(1, 1, 5, 8), torch.ones(1, 1, 5, 8)
    out, _ = attend(torch.nn.Module(), query, key, value, None, s_aux=torch.tensor([50.0, -50.0]))
    torch.testing.assert_close(out[0, 0, 0], torch.zeros(8), atol=1e-4, rtol=0)
    torch.testing.assert_close(out[0, 0, 1], torch.ones(8), atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_model_kind_equals_its_own_eager_attention(kind: str) -> None:
    model, reference = tiny_model(kind), reference_model(kind)
    ids = torch.randint(3, 250, (1, 4 * WINDOW))
    cache, start, parts = LiveCache(model.config), 0, []
    with torch.inference_mode():
        for size in (17, 1, 1, 30, 2, 4 * WINDOW - 51):
            positions = torch.arange(start, start + size)[None]
            chunk = ids[:, start : start + size]
            parts.append(model(input_ids=chunk, position_ids=positions, cache=cache, use_cache=True).logits)
            start += size
        expected = reference(input_ids=ids, use_cache=False).logits
    torch.testing.assert_close(torch.cat(parts, dim=1), expected, atol=2e-3, rtol=1e-3)


def test_old_keys_are_never_copied_or_repeated() -> None:
    """Peak memory of one decode step over a long cache stays far below one more copy of the keys."""
    key = torch.randn(1, 2, 20_000, 64)
    query = torch.randn(1, 8, 1, 64)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        attend(torch.nn.Module(), query, key, key, None)
        attend(torch.nn.Module(), torch.randn(1, 8, 16, 64), key, key, None)
    largest = max(event.self_cpu_memory_usage for event in profile.key_averages())
    assert largest < key.numel() * 4 // 4
    assert not {"aten::cat", "aten::repeat_interleave"} & {event.key for event in profile.key_averages()}
