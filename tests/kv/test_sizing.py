"""Buffers: little slack, few copies, never too small."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.kv.sizing import SMALL_TOKENS, STEP_TOKENS, grown_capacity, is_oversized, tokens_within

LONGEST = 300_000


def growths(n_tokens: int) -> list[int]:
    """Capacities that a buffer goes through when it grows token by token to `n_tokens`."""
    capacities = [grown_capacity(1)]
    while capacities[-1] < n_tokens:
        capacities.append(grown_capacity(capacities[-1] + 1))
    return capacities


def test_every_length_fits_with_little_slack_and_never_shrinks() -> None:
    before = 0
    for n in range(1, LONGEST):
        capacity = grown_capacity(n)
        assert n <= capacity
        assert capacity >= before
        assert capacity <= 1.13 * n or n <= 1024
        assert capacity - n <= max(SMALL_TOKENS, STEP_TOKENS + 15)
        before = capacity


@pytest.mark.parametrize("n", [1025, 1500, 5000, 18_500, 100_000, 1_000_000])
def test_slack_while_growing_stays_under_the_promised_15_percent(n: int) -> None:
    """Worst right after a growth, when the buffer holds one token more than the last one could."""
    for before in growths(n)[:-1]:
        if before >= 1024:
            assert grown_capacity(before + 1) <= 1.15 * (before + 1)


def test_small_buffers_come_in_whole_blocks() -> None:
    assert [grown_capacity(n) for n in (0, 1, 255, 256, 257, 1024)] == [0, 256, 256, 256, 512, 1024]


def test_growth_is_rare() -> None:
    assert len(growths(1024)) == 4
    geometric = math.log(16_384 / 1024) / math.log(1 + 1 / 9)
    assert len(growths(16_384)) <= 4 + math.ceil(geometric)
    for n in (32_768, 131_072):
        assert len(growths(n)) <= len(growths(16_384)) + math.ceil((n - 16_384) / (STEP_TOKENS * 0.9))


def test_copies_are_cheap_on_average() -> None:
    """Tokens copied per token appended, against one copy of the whole buffer per token without slack."""
    for n, most in ((1024, 1.5), (16_384, 9), (131_072, 33)):
        assert sum(growths(n)[:-1]) / n <= most


@given(n=st.integers(1, LONGEST), limit=st.integers(0, LONGEST))
def test_the_limit_caps_slack_and_never_need(n: int, limit: int) -> None:
    capped = grown_capacity(n, limit)
    assert n <= capped <= grown_capacity(n)
    assert capped <= max(n, limit)
    if limit >= grown_capacity(n):
        assert capped == grown_capacity(n)


@given(n=st.integers(0, LONGEST), limit=st.none() | st.integers(0, LONGEST))
def test_a_buffer_that_was_just_sized_is_not_oversized(n: int, limit: int | None) -> None:
    assert not is_oversized(grown_capacity(n, limit), n)


@given(n=st.integers(1025, LONGEST), capacity=st.integers(1025, 2 * LONGEST))
def test_a_buffer_with_more_than_15_percent_slack_is_oversized(n: int, capacity: int) -> None:
    assert is_oversized(capacity, n) == (capacity > 1.15 * n)


@pytest.mark.parametrize(
    ("budget", "per_token", "fixed", "n"),
    [
        (1000, 10, 0, 100),
        (1009, 10, 0, 100),
        (1000, 10, 995, 0),
        (1000, 10, 2000, 0),
        (0, 10, 0, 0),
        (9, 10, 0, 0),
    ],
)
def test_tokens_within_a_budget(budget: int, per_token: int, fixed: int, n: int) -> None:
    assert tokens_within(budget, per_token, fixed) == n


def test_a_model_whose_state_does_not_grow_is_not_limited_by_bytes() -> None:
    assert tokens_within(1, 0) > 1 << 32


@given(st.integers(0, 1 << 45), st.integers(1, 1 << 24), st.integers(0, 1 << 40))
def test_tokens_within_is_the_largest_number_that_fits(budget: int, per_token: int, fixed: int) -> None:
    n = tokens_within(budget, per_token, fixed)
    assert n == 0 or fixed + n * per_token <= budget
    assert fixed + (n + 1) * per_token > budget
