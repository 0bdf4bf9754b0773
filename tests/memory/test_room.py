"""Whatever the budget: the shares add up, so that an answer, a summary request and a new beginning always fit."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chatkv.config import MemoryConfig
from chatkv.memory.room import GLUE_TOKENS, LEAST_ANSWER, Room, share_out


@dataclass(frozen=True)
class Asked:
    """What a room is shared out for."""

    limit: int
    config: MemoryConfig
    system: int
    request: int
    max_new_tokens: int

    def room(self) -> Room:
        return share_out(
            self.limit,
            self.config,
            system=self.system,
            request=self.request,
            max_new_tokens=self.max_new_tokens,
        )


@st.composite
def marks(draw: st.DrawFn) -> MemoryConfig:
    target, soft, hard = sorted(draw(st.lists(st.floats(0.05, 1.0), min_size=3, max_size=3)))
    return MemoryConfig(
        soft=soft,
        hard=hard,
        target=target,
        summary_tokens=draw(st.one_of(st.just(0), st.integers(1, 5000))),
        recall_tokens=draw(st.one_of(st.just(0), st.integers(1, 5000))),
    )


LIMITS = st.one_of(st.integers(16, 400), st.integers(16, 10_000), st.integers(16, 1_000_000))
ASKED = st.builds(
    Asked,
    limit=LIMITS,
    config=marks(),
    system=st.one_of(st.just(0), st.integers(0, 3000)),
    request=st.integers(20, 300),
    max_new_tokens=st.integers(1, 100_000),
)
USUAL = MemoryConfig()


@settings(max_examples=600, deadline=None, derandomize=True)
@given(asked=ASKED)
@example(Asked(16, USUAL, 0, 60, 512))
@example(Asked(1_000_000, USUAL, 3000, 60, 512))
def test_shares_add_up(asked: Asked) -> None:
    room = asked.room()
    assert room.limit == asked.limit
    assert 0 < room.ceiling <= room.limit
    assert 0 <= room.target <= room.hard <= room.ceiling
    assert 0 <= room.soft <= room.hard
    assert room.ceiling >= room.limit - -(-room.limit // 3)
    assert room.hard <= room.limit * asked.config.hard
    assert room.soft <= room.limit * asked.config.soft
    assert room.summary > 0
    assert 1 <= room.answer <= max(LEAST_ANSWER, room.limit // 8)
    assert room.answer <= asked.max_new_tokens


@settings(max_examples=600, deadline=None, derandomize=True)
@given(asked=ASKED)
def test_a_summary_can_be_asked_for_at_the_ceiling_and_read_beside_it(asked: Asked) -> None:
    room = asked.room()
    beside = asked.system + room.summary + GLUE_TOKENS
    if room.request:
        assert room.request == asked.request + GLUE_TOKENS
        assert room.ceiling + room.request + room.summary <= room.limit
        assert room.ceiling + beside <= room.limit
    else:
        assert (
            asked.request + GLUE_TOKENS + room.summary > asked.limit // 3
            or beside > asked.limit // 3
            or (room.summary <= asked.limit // 8)
        )
        assert room.summary <= asked.limit // 8
        assert room.ceiling + min(beside, asked.limit // 3) <= room.limit


@settings(max_examples=200, deadline=None, derandomize=True)
@given(asked=ASKED)
def test_what_is_set_by_hand_is_taken_where_it_can_be(asked: Asked) -> None:
    room, config = asked.room(), asked.config
    if config.summary_tokens and room.request:
        assert room.summary == config.summary_tokens
    if config.recall_tokens:
        assert room.recall == config.recall_tokens
    else:
        assert room.recall == min(asked.limit // 4, 1024)


@pytest.mark.parametrize("limit", [512, 1024, 2048, 8192, 131_072])
def test_usual_conversations_keep_most_of_their_budget(limit: int) -> None:
    room = Asked(limit, USUAL, 40, 70, 512).room()
    assert room.request
    assert room.ceiling >= 0.6 * limit
    assert room.target < room.soft < room.hard
    assert room.target + room.answer < room.ceiling
    assert room.summary == min(max(limit // 16, 48), 768)


def test_a_larger_limit_never_leaves_less() -> None:
    rooms = [Asked(limit, USUAL, 40, 70, 512).room() for limit in range(3000, 60_000, 50)]
    for smaller, larger in itertools.pairwise(rooms):
        assert larger.ceiling >= smaller.ceiling
        assert larger.soft >= smaller.soft
        assert larger.summary >= smaller.summary
