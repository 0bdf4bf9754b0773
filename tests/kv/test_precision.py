"""Keys and values in int8 and back, and blocks that hold them: how far off, and what is refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save
from tiny import tiny_loaded
from torch import Tensor

from chatkv.engine.local import LocalEngine
from chatkv.errors import DamagedBlockError
from chatkv.kv.blocks import INT8, exact_name, is_int8, packed, unpack_into
from chatkv.kv.cache import LiveCache
from chatkv.kv.precision import N_SINKS, dequantized, quantized

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
NAME = "0" * 64 + INT8


def states_of(seed: int, dtype: torch.dtype, n: int, dim: int, magnitude: float, outlier: float) -> Tensor:
    """[1, 2, n, dim]: rows of very different sizes, some of them zero, one channel larger than the others."""
    generator = torch.Generator().manual_seed(seed)
    rows = 10 ** (torch.rand(1, 2, n, 1, generator=generator) * 6 - 3) * magnitude
    rows *= torch.rand(1, 2, n, 1, generator=generator) > 0.1
    states = torch.randn(1, 2, n, dim, generator=generator) * rows
    states[..., 0] *= outlier
    return states.clamp(-6e4, 6e4).to(dtype)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**31),
    st.sampled_from(DTYPES),
    st.integers(1, 20),
    st.sampled_from([1, 8, 64]),
    st.sampled_from([1e-38, 1e-20, 1e-6, 1.0, 1e4]),
    st.sampled_from([1.0, 100.0]),
)
def test_nothing_is_off_by_more_than_half_a_step(
    seed: int, dtype: torch.dtype, n: int, dim: int, magnitude: float, outlier: float
) -> None:
    states = states_of(seed, dtype, n, dim, magnitude, outlier)
    in_int8 = quantized(states)
    assert in_int8 is not None
    values, scales = in_int8
    assert values.dtype == torch.int8
    assert scales.shape == (1, 2, n, 1)
    back = dequantized(values, scales, dtype)
    assert back.dtype == dtype
    largest = states.double().abs().amax(dim=-1, keepdim=True)
    rounding = states.double().abs() * torch.finfo(dtype).eps + torch.finfo(dtype).tiny
    allowed = largest / 254 * (1 + 1e-5) + rounding * (1 + 1 / 127)
    assert bool(((back.double() - states.double()).abs() <= allowed).all())
    assert bool((back[largest.expand_as(back) == 0] == 0).all())


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 3e38])
def test_what_int8_cannot_hold_is_not_put_into_it(value: float) -> None:
    states = torch.ones(1, 2, 3, 8)
    states[0, 1, 2, 3] = value
    assert quantized(states) is None
    assert quantized(torch.ones(1, 2, 3, 8, dtype=torch.float64)) is None


def filled(kind: str = "llama", n: int = 40) -> LiveCache:
    engine = LocalEngine(tiny_loaded(kind))
    engine.feed([5 + i % 90 for i in range(n)], "wrapper", 0)
    engine.checkpoint()
    return engine.cache


@pytest.mark.parametrize(("start", "end"), [(0, 40), (0, 3), (2, 20), (7, 40)])
def test_the_first_positions_stay_as_they_are(start: int, end: int) -> None:
    cache = filled()
    tensors = load(packed(cache, NAME, start, end))
    n_first = max(0, min(N_SINKS, end) - start)
    if end <= N_SINKS:
        assert not any(key.endswith(INT8) for key in tensors)
        return
    for index, keys in enumerate(cache.keys()):
        assert torch.equal(tensors[f"{index}.keys.first"], keys[:, :, start : start + n_first])
        assert tensors[f"{index}.keys.int8"].shape[2] == end - start - n_first
        assert tensors[f"{index}.keys.int8"].dtype == torch.int8


def test_a_block_comes_back_nearly_as_it_was_from_any_token_on() -> None:
    cache = filled()
    payload = packed(cache, NAME, 0, 40)
    for skip, take in ((0, 40), (0, 2), (3, 10), (20, 20)):
        other = LiveCache(tiny_loaded("llama").model.config)
        assert not unpack_into(other, payload, NAME, 0, skip, take, "cpu")
        for mine, theirs in zip(other.keys(), cache.keys(), strict=True):
            there = theirs[:, :, skip : skip + take]
            n_first = max(0, N_SINKS - skip)
            assert mine.shape == there.shape
            assert torch.equal(mine[:, :, :n_first], there[:, :, :n_first])
            assert float((mine - there).norm()) <= 0.01 * float(there.norm())


def test_recurrent_states_stay_exact() -> None:
    cache = filled("hybrid")
    other = LiveCache(tiny_loaded("hybrid").model.config)
    assert not unpack_into(other, packed(cache, NAME, 0, 40), NAME, 0, 0, 40, "cpu")
    mine, theirs = other.states_at(40), cache.states_at(40)
    assert list(mine) == list(theirs) != []
    for index, state in theirs.items():
        for saved, held in ((mine[index].conv, state.conv), (mine[index].recurrent, state.recurrent)):
            for n, tensor in held.items():
                other_tensor = saved[n]
                assert (tensor is None) == (other_tensor is None)
                assert tensor is None or other_tensor is None or torch.equal(tensor, other_tensor)


def test_a_layer_that_int8_cannot_hold_is_kept_as_it_is_and_the_bytes_say_so() -> None:
    cache = filled()
    assert is_int8(NAME)
    assert not is_int8(exact_name(NAME))
    assert unpack_into(LiveCache(tiny_loaded("llama").model.config), _exact(cache), NAME, 0, 0, 40, "cpu")
    with torch.inference_mode():
        cache.keys()[0][0, 0, 9, 0] = float("inf")
    tensors = load(packed(cache, NAME, 0, 40))
    assert torch.equal(tensors["0.keys"], cache.keys()[0])
    assert "0.values.int8" in tensors


def _exact(cache: LiveCache) -> bytes:
    return packed(cache, exact_name(NAME), 0, 40)


HARMS = [(part, harm) for part in ("first", "int8", "scale") for harm in ("missing", "short", "other type")]


@pytest.mark.parametrize(("part", "harm"), [*HARMS, ("scale", "not finite")])
def test_a_block_with_a_part_that_does_not_fit_is_refused(part: str, harm: str) -> None:
    tensors = load(packed(filled(), NAME, 0, 40))
    key = f"1.values.{part}"
    if harm == "missing":
        del tensors[key]
    elif harm == "short":
        tensors[key] = tensors[key][:, :, :-1].contiguous()
    else:
        tensors[key] = tensors[key].to(torch.float64) if harm == "other type" else tensors[key] * float("nan")
    cache = LiveCache(tiny_loaded("llama").model.config)
    with pytest.raises(DamagedBlockError):
        unpack_into(cache, save(tensors), NAME, 0, 0, 40, "cpu")
