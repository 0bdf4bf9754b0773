"""Which turns go: never what is pinned or recent, oldest first, as many as needed and, for `sinks`, no more."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.config import MemoryConfig
from chatkv.memory.policy import POLICIES, Policy, TurnSize, goal_tokens, is_due


@st.composite
def turns(draw: st.DrawFn) -> list[TurnSize]:
    numbers = sorted(draw(st.sets(st.integers(1, 60), max_size=20)))
    return [
        TurnSize(
            number,
            number * 2,
            draw(st.integers(1, 300)),
            draw(st.integers(0, 5)) == 0,
            draw(st.sampled_from([0.0, 0.0, 0.1, 0.4, 0.9])),
        )
        for number in numbers
    ]


FIXED, GOAL, KEEP = st.integers(0, 500), st.integers(-50, 4000), st.integers(0, 5)
NAMES = st.sampled_from(list(POLICIES))


def total(sizes: list[TurnSize] | tuple[TurnSize, ...]) -> int:
    return sum(size.n_tokens for size in sizes)


def free(sizes: list[TurnSize], keep: int) -> list[TurnSize]:
    return [size for size in sizes[: max(0, len(sizes) - keep)] if not size.pinned]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(sizes=turns(), fixed=FIXED, goal=GOAL, keep=KEEP, name=NAMES)
def test_what_must_stay_stays_and_the_goal_is_reached_if_it_can_be(
    sizes: list[TurnSize], fixed: int, goal: int, keep: int, name: str
) -> None:
    policy = POLICIES[name]
    going = policy.going(sizes, fixed=fixed, goal=goal, keep=keep)
    may_go = free(sizes, keep)
    assert set(going) <= set(may_go)
    assert [size.turn for size in going] == sorted(size.turn for size in going)
    left = fixed + total(sizes) - total(going)
    if fixed + total(sizes) <= goal:
        assert going == ()
    elif not policy.attends or fixed + total(sizes) - total(may_go) > goal:
        assert left <= goal or len(going) == len(may_go)
        assert list(going) == may_go[: len(going)]
    else:
        assert left <= goal


@settings(max_examples=400, deadline=None, derandomize=True)
@given(sizes=turns(), fixed=FIXED, goal=GOAL, keep=KEEP, name=NAMES)
def test_no_turn_goes_that_need_not(
    sizes: list[TurnSize], fixed: int, goal: int, keep: int, name: str
) -> None:
    going = POLICIES[name].going(sizes, fixed=fixed, goal=goal, keep=keep)
    if going:
        assert fixed + total(sizes) - total(going[:-1]) > goal


@settings(max_examples=400, deadline=None, derandomize=True)
@given(sizes=turns(), fixed=FIXED, goal=GOAL, keep=KEEP)
def test_attention_spares_the_hottest_within_half_of_the_room(
    sizes: list[TurnSize], fixed: int, goal: int, keep: int
) -> None:
    going = POLICIES["attended"].going(sizes, fixed=fixed, goal=goal, keep=keep)
    may_go = free(sizes, keep)
    stayed = [size for size in may_go if size not in going]
    if not going:
        return
    older = [size for size in stayed if size.turn < going[-1].turn]  # these were spared, not merely left
    room = goal - (fixed + total(sizes) - total(may_go))
    assert total(older) <= max(0, room) / 2
    assert all(size.heat > 0 for size in older)
    for size in older:
        hotter = [other for other in going if other.heat > size.heat]
        assert all(
            other.n_tokens > room / 2 - total([s for s in stayed if s.heat >= other.heat]) for other in hotter
        )


def test_examples() -> None:
    sizes = [TurnSize(n, n, 100, pinned=n == 2, heat=0.9 if n == 4 else 0.0) for n in range(1, 9)]
    gone = {
        name: [size.turn for size in policy.going(sizes, fixed=50, goal=550, keep=2)]
        for name, policy in POLICIES.items()
    }
    assert gone == {
        "summary": [1, 3, 4],
        "window": [1, 3, 4],
        "sinks": [1, 3, 4],
        "attended": [1, 3, 5],
    }


def test_each_policy_is_what_it_says() -> None:
    assert {name for name, policy in POLICIES.items() if policy.summarizes} == {"summary", "attended"}
    assert {name for name, policy in POLICIES.items() if policy.large} == {"summary", "window", "attended"}
    assert {name for name, policy in POLICIES.items() if policy.heals} == {"summary", "window", "attended"}
    assert {name for name, policy in POLICIES.items() if policy.attends} == {"attended"}
    assert all(policy.name == name for name, policy in POLICIES.items())
    assert MemoryConfig().policy in POLICIES


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    usual=st.integers(1, 200), n=st.integers(0, 20), target=st.integers(0, 3000), full=st.integers(0, 4000)
)
def test_the_goal_leaves_five_turns_of_the_usual_size(usual: int, n: int, target: int, full: int) -> None:
    sizes = [TurnSize(turn, turn, usual) for turn in range(1, n + 1)]
    goal = goal_tokens(sizes, target=target, full=full)
    assert 0 <= goal <= target
    if n and goal:
        assert goal + 6 * usual <= full
    if goal < target:
        assert target + 6 * usual > full


def test_only_recent_turns_say_what_is_usual() -> None:
    sizes = [TurnSize(n, n, 1000 if n < 20 else 10) for n in range(1, 30)]
    assert goal_tokens(sizes, target=400, full=500) == 400


@settings(max_examples=200, deadline=None, derandomize=True)
@given(size=st.integers(1, 125), policy=st.sampled_from(["summary", "window"]), start=st.integers(0, 400))
def test_turns_of_one_size_compact_every_sixth_turn_at_most(size: int, policy: str, start: int) -> None:
    """The promise of the issue, on sizes alone, for turns of which eight fit (two stay, six come)."""
    full, target, sizes = 1000 + start, 400, list[TurnSize]()
    at = []
    for n in range(1, 120):
        if total(sizes) + size > full:
            goal = goal_tokens(sizes, target=target, full=full)
            going = POLICIES[policy].going(sizes, fixed=0, goal=goal, keep=2)
            sizes = [turn for turn in sizes if turn not in going]
            at.append(n)
        assert total(sizes) + size <= full
        sizes.append(TurnSize(n, n, size))
    assert all(later - earlier > 5 for earlier, later in itertools.pairwise(at))


@pytest.mark.parametrize(
    ("n_tokens", "since", "due"),
    [(701, None, True), (700, None, False), (701, 4, False), (701, 5, True), (0, 99, False)],
)
def test_idle_time_compacts_above_the_mark_and_not_again_at_once(
    n_tokens: int, since: int | None, due: bool
) -> None:
    assert is_due(n_tokens, soft=700, turns_since=since) is due


def test_nothing_goes_of_nothing() -> None:
    policy: Policy
    for policy in POLICIES.values():
        assert policy.going([], fixed=900, goal=10, keep=2) == ()
