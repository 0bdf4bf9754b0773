"""Which turns leave the context when room is needed, and what becomes of them: four answers behind one interface.

Plain Python over sizes: knows neither texts nor tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Name = Literal["summary", "window", "sinks", "attended"]

_TURNS_APART = 5
_ATTENDED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class TurnSize:
    """One turn in the context: the id of its user message, its tokens, and the attention recent questions paid it."""

    turn: int
    user_id: int
    n_tokens: int
    pinned: bool = False
    heat: float = 0.0


@dataclass(frozen=True, slots=True)
class Policy:
    """`summarizes`: a summary stands for what goes. `large`: goes down to the target, rarely; else only as far as
    needed. `heals`: moved turns are computed exactly when idle. `attends`: hot old turns stay beside the recent ones.

    Sources: `sinks` is StreamingLLM (Xiao et al. 2023) by whole turns; `attended` keeps what attention dwells on, as
    H2O (Zhang et al. 2023) does by tokens.
    """

    name: Name
    summarizes: bool
    large: bool
    heals: bool
    attends: bool = False

    def going(self, turns: Sequence[TurnSize], *, fixed: int, goal: int, keep: int) -> tuple[TurnSize, ...]:
        """The turns that go so that `fixed` tokens and the rest come down to `goal`, oldest first.

        Never a pinned one, never one of the last `keep`.
        """
        free = [turn for turn in turns[: max(0, len(turns) - keep)] if not turn.pinned]
        left = fixed + sum(turn.n_tokens for turn in turns)
        spared = self._spared(free, goal - left + sum(turn.n_tokens for turn in free))
        gone: list[TurnSize] = []
        for turn in (turn for turn in free if turn.user_id not in spared):
            if left <= goal:
                break
            gone.append(turn)
            left -= turn.n_tokens
        return tuple(gone)

    def _spared(self, free: Sequence[TurnSize], room: int) -> frozenset[int]:
        """The hottest of the `free` turns that fit in a share of `room` tokens."""
        if not self.attends:
            return frozenset()
        room = int(room * _ATTENDED_SHARE)
        spared: set[int] = set()
        for turn in sorted(free, key=lambda turn: -turn.heat):
            if turn.heat > 0 and turn.n_tokens <= room:
                spared.add(turn.user_id)
                room -= turn.n_tokens
        return frozenset(spared)


POLICIES: dict[str, Policy] = {
    "summary": Policy("summary", summarizes=True, large=True, heals=True),
    "window": Policy("window", summarizes=False, large=True, heals=True),
    "sinks": Policy("sinks", summarizes=False, large=False, heals=False),
    "attended": Policy("attended", summarizes=True, large=True, heals=True, attends=True),
}


def goal_tokens(turns: Sequence[TurnSize], *, target: int, full: int) -> int:
    """Down to how many tokens to compact: the target, or less if five more turns of the usual size, and then one
    that does not fit, would not bring it up to `full` only then."""
    recent = [turn.n_tokens for turn in turns[-8:]]
    usual = sum(recent) / len(recent) if recent else 0
    return max(0, min(target, full - int((_TURNS_APART + 1) * usual)))


def is_due(n_tokens: int, *, soft: int, turns_since: int | None) -> bool:
    """Whether to compact when idle: above the soft mark, and five turns after the last compaction (None: never)."""
    return n_tokens > soft and (turns_since is None or turns_since >= _TURNS_APART)
