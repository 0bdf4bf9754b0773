"""A shifted key is the key that the model itself would have made at the other place."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import CONFIGS, ROPES
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.cohere.modeling_cohere import apply_rotary_pos_emb as apply_to_neighbours
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from chatkv.kv.rotate import Turning, found

KINDS: dict[str, Any] = {"default": CONFIGS["llama"], **{k: ROPES[k] for k in ("linear", "llama3", "yarn")}}
TOLERANCE: dict[str, Any] = {"atol": 2e-4, "rtol": 1e-4}


def randoms(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def at(rotary: LlamaRotaryEmbedding, keys: Tensor, start: int) -> Tensor:
    """`keys` [1, heads, n, dim] turned by transformers for positions from `start` on."""
    places = torch.arange(start, start + keys.shape[2])[None]
    cos, sin = rotary(keys, places)
    turned: Tensor = apply_rotary_pos_emb(keys, keys, cos, sin)[1]
    return turned


def neighbours_at(keys: Tensor, inv_freq: Tensor, start: int) -> Tensor:
    """The plain reference: each pair (2i, 2i + 1) is a complex number, turned by position x frequency."""
    places = torch.arange(start, start + keys.shape[2], dtype=torch.float64)
    turns = torch.polar(torch.ones(()).double(), places[:, None] * inv_freq.double())
    pairs = torch.view_as_complex(keys.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2).to(keys.dtype)


def frequencies(pairs: int, base: float = 10_000.0) -> Tensor:
    return base ** (-torch.arange(pairs).float() / pairs)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    start=st.integers(0, 1500),
    by=st.integers(-1500, 1500),
    heads=st.integers(1, 3),
    n=st.integers(0, 9),
    dim=st.sampled_from([2, 8, 64]),
)
def test_shifted_keys_are_those_of_transformers(
    kind: str, start: int, by: int, heads: int, n: int, dim: int
) -> None:
    config: LlamaConfig = KINDS[kind]()
    config.head_dim = dim
    rotary, keys = LlamaRotaryEmbedding(config), randoms(1, heads, n, dim)
    by = max(by, -start)
    here, there = at(rotary, keys, start), at(rotary, keys, start + by)
    turning = Turning(rotary.inv_freq)
    kept = here.clone()
    torch.testing.assert_close(turning.shifted(here, by), there, **TOLERANCE)
    assert torch.equal(here, kept)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    start=st.integers(0, 2000),
    by=st.integers(-2000, 2000),
    pairs=st.integers(1, 16),
    before=st.integers(0, 6),
)
def test_neighbours_and_parts_of_the_dimensions(start: int, by: int, pairs: int, before: int) -> None:
    by, inv_freq = max(by, -start), frequencies(pairs)
    turned, still_before, still_after = (
        randoms(1, 2, 5, 2 * pairs),
        randoms(1, 2, 5, before, seed=1),
        randoms(1, 2, 5, 3, seed=2),
    )
    here = torch.cat([still_before, neighbours_at(turned, inv_freq, start), still_after], dim=-1)
    there = torch.cat([still_before, neighbours_at(turned, inv_freq, start + by), still_after], dim=-1)
    shifted = Turning(inv_freq, before, neighbours=True).shifted(here, by)
    torch.testing.assert_close(shifted, there, **TOLERANCE)
    assert torch.equal(shifted[..., :before], still_before)
    assert torch.equal(shifted[..., before + 2 * pairs :], still_after)


def test_neighbours_are_those_of_transformers() -> None:
    inv_freq, keys = frequencies(4), randoms(1, 2, 6, 8)
    angles = torch.arange(30, 36)[None, :, None] * inv_freq
    angles = torch.repeat_interleave(angles, 2, dim=-1)  # as Cohere's embedding lays them out
    wanted = apply_to_neighbours(keys, keys, angles.cos(), angles.sin())[1]
    torch.testing.assert_close(neighbours_at(keys, inv_freq, 30), wanted, **TOLERANCE)
    turning = Turning(inv_freq, neighbours=True)
    torch.testing.assert_close(turning.shifted(wanted, -30), neighbours_at(keys, inv_freq, 0), **TOLERANCE)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(by=st.integers(-100_000, 100_000), neighbours=st.booleans(), seed=st.integers(0, 99))
def test_there_and_back_again_and_no_distance_at_all(by: int, neighbours: bool, seed: int) -> None:
    turning, keys = Turning(frequencies(8), 2, neighbours), randoms(1, 2, 4, 20, seed=seed)
    there = turning.shifted(keys, by)
    assert torch.equal(turning.shifted(keys, 0), keys)
    assert turning.shifted(keys, 0).data_ptr() != keys.data_ptr()
    torch.testing.assert_close(turning.shifted(there, -by), keys, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(there.norm(dim=-1), keys.norm(dim=-1), **TOLERANCE)


def test_two_shifts_are_one() -> None:
    turning, keys = Turning(frequencies(8)), randoms(1, 2, 4, 16)
    torch.testing.assert_close(
        turning.shifted(turning.shifted(keys, 700), -912), turning.shifted(keys, -212), **TOLERANCE
    )


@pytest.mark.parametrize("neighbours", [False, True])
def test_half_precision_is_rounded_once(neighbours: bool) -> None:
    turning, keys = Turning(frequencies(16), 0, neighbours), randoms(1, 3, 50, 32).bfloat16()
    shifted = turning.shifted(keys, -1234)
    assert shifted.dtype == torch.bfloat16
    exact = turning.shifted(keys.float(), -1234)
    assert torch.equal(shifted, exact.bfloat16())


def test_keys_without_positions_stay() -> None:
    keys = randoms(1, 2, 4, 8)
    assert torch.equal(Turning().shifted(keys, 99), keys)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    by=st.sampled_from([512, 997]),
    neighbours=st.booleans(),
    pairs=st.integers(4, 16),
    still=st.sampled_from([0, 4]),
    at_the_end=st.booleans(),
    half=st.booleans(),
)
def test_the_layout_is_found(
    by: int, neighbours: bool, pairs: int, still: int, at_the_end: bool, half: bool
) -> None:
    others = [frequencies(pairs, 500_000.0), frequencies(pairs + 1), frequencies(50)]
    inv_freq = frequencies(pairs)
    turning = Turning(inv_freq, still if at_the_end else 0, neighbours)
    here = randoms(1, 2, 7, 2 * pairs + still)
    there = turning.shifted(here, by)
    if half:
        here, there = here.bfloat16(), there.bfloat16()
    got = found(here, there, by, [*others, inv_freq])
    assert got is not None
    assert got.inv_freq is inv_freq
    assert (got.first, got.neighbours) == (turning.first, neighbours)


def test_frequencies_for_larger_heads_than_these_do_not_matter() -> None:
    """A model that also sees has those of its eyes, too."""
    here, inv_freq = randoms(1, 2, 7, 8), frequencies(4)
    there = Turning(inv_freq).shifted(here, 300)
    assert found(here, there, 300, [frequencies(36), frequencies(5), inv_freq]) == Turning(inv_freq)


def test_what_is_no_rotation_is_not_found() -> None:
    inv_freq, here = frequencies(4), randoms(1, 2, 7, 8)
    turned = Turning(inv_freq).shifted(here, 300)
    assert found(here, randoms(1, 2, 7, 8, seed=5), 300, [inv_freq]) is None
    assert found(here, turned * 1.2, 300, [inv_freq]) is None
    assert found(here, turned, 301, [inv_freq]) is None
    assert found(here, turned, 300, [frequencies(4, 100.0)]) is None
    assert found(here, turned, 300, []) is None
    assert found(here, turned.flip(2), 300, [inv_freq]) is None


def test_keys_that_do_not_depend_on_position_need_no_frequencies() -> None:
    here = randoms(1, 2, 7, 8)
    assert found(here, here.clone(), 300, []) == Turning()
