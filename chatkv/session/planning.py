"""Whether the context is full, and what would go: sizes come from a rendering, marks from the budget.

Decides and changes nothing. What is done about it is `upkeep`'s business.
"""

from __future__ import annotations

from collections.abc import Iterable

from chatkv.errors import UsageError
from chatkv.memory import summary
from chatkv.memory.policy import POLICIES, Policy, TurnSize, goal_tokens, is_due
from chatkv.memory.room import GLUE_TOKENS, LEAST_ANSWER, Room, share_out
from chatkv.protocol import Compaction
from chatkv.runtime import Runtime
from chatkv.session.compaction import Plan, Reason
from chatkv.session.context import Context, turn_sizes
from chatkv.tokens import Rendered


class Planner:
    """Plans for one context under one runtime."""

    def __init__(self, runtime: Runtime, context: Context) -> None:
        self.runtime = runtime
        self.context = context
        self.room = self._shared_out()
        self._stable: Rendered | None = None

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return POLICIES[self.runtime.memory.policy]

    @property
    def stable(self) -> Rendered:
        """What every next prompt begins with."""
        if self._stable is None:
            self._stable = self.runtime.chat.stable_prefix(self.context.messages())
        return self._stable

    def moved(self) -> None:
        """The context is another than it was."""
        self._stable = None

    def adopt(self, runtime: Runtime) -> None:
        """Plan under changed settings."""
        self.runtime = runtime
        self.room = self._shared_out()
        self._stable = None

    # ── what fits ────────────────────────────────────────────────────────────────────────────────────────

    def excess(self, n_new: int) -> int:
        """By how many tokens a message of `n_new` is too long, were all gone that can go; 0 or less: it fits."""
        sizes = self.sizes()
        pinned = sum(size.n_tokens for size in sizes if size.pinned)
        fixed = (
            self._fixed() if self._sheds(sizes) or self.context.summary else turn_sizes(self.stable).get(0, 0)
        )
        return fixed + pinned + n_new + GLUE_TOKENS + LEAST_ANSWER - self.room.ceiling

    @property
    def most(self) -> int:
        """How many tokens a message can have, were all gone that can go."""
        return max(0, -self.excess(0))

    @property
    def free(self) -> int:
        """How many tokens a message can have before anything must go."""
        n_tokens = len(self.stable.ids)
        left = self.room.ceiling - self.room.answer - GLUE_TOKENS - n_tokens
        return max(0, min(left, self.most)) if n_tokens <= self.room.hard else 0

    def fits(self, n_new: int, answer: int = LEAST_ANSWER) -> bool:
        """Whether a message of `n_new` tokens and an answer of `answer` fit as things stand."""
        return len(self.stable.ids) + n_new + GLUE_TOKENS + answer <= self.room.ceiling

    def is_full(self, n_new: int) -> bool:
        """Whether to compact before a message of `n_new`: its answer would be cut short, or the hard mark is passed."""
        return not self.fits(n_new, self.room.answer) or len(self.stable.ids) > self.room.hard

    def left_for_recall(self, n_new: int) -> int:
        """Tokens that may be recalled for a message of `n_new`."""
        taken = len(self.stable.ids) + n_new + GLUE_TOKENS + self.room.answer
        return max(0, min(self.room.recall, self.room.ceiling - taken))

    # ── what goes ────────────────────────────────────────────────────────────────────────────────────────

    def when_idle(self) -> Plan | None:
        """What to do about a context above the soft mark; None below it, or where it was done a few turns ago."""
        sizes = self.sizes()
        # In a small room the next turn may not fit although the soft mark is not passed.
        last_fit = self.room.ceiling - self.room.answer - GLUE_TOKENS - (sizes[-1].n_tokens if sizes else 0)
        soft = min(self.room.soft, last_fit)
        due = is_due(len(self.stable.ids), soft=soft, turns_since=self._turns_since())
        return self.plan("idle", self.runtime.memory.keep_turns) if due and self.policy.large else None

    def plan(self, reason: Reason, keep: int, n_new: int = 0) -> Plan | None:
        """What goes, the last `keep` turns never, so that a message of `n_new` tokens fits; None if nothing can."""
        sizes, policy, need = self.sizes(), self.policy, n_new + GLUE_TOKENS
        full = min(self.room.hard, self.room.ceiling - need)
        # Where little goes at a time, little would ever be left for what is recalled.
        goal = full - self.room.answer - (self.room.recall if self.runtime.memory.recall else 0)
        if policy.large:
            goal = goal_tokens(sizes, target=self.room.target, full=full)
        going = policy.going(sizes, fixed=self._fixed(), goal=goal, keep=keep)
        return self._planned(going, reason) if going else None

    def keeps(self, n_new: int) -> range:
        """How many of the last turns to keep for a message of `n_new` tokens: first as many as a person set, or fewer
        if it would not fit then; ever fewer if that was not enough."""
        most = self.runtime.memory.keep_turns
        sizes, need = self.sizes(), n_new + GLUE_TOKENS + LEAST_ANSWER
        for keep in range(most, 0, -1):
            stay = sum(s.n_tokens for n, s in enumerate(sizes) if s.pinned or n >= len(sizes) - keep)
            if self._fixed() + stay + need <= self.room.ceiling:
                return range(keep, -1, -1)
        return range(0, -1, -1)

    def asked(self, instructions: str) -> Plan:
        """All that may go. Raises `UsageError` if nothing can."""
        keep = self.runtime.memory.keep_turns
        sizes = self.sizes()
        free = [size for size in sizes[: max(0, len(sizes) - keep)] if not size.pinned]
        if not free:
            raise UsageError(
                f"There is nothing to compact: the last {keep} turns and pinned ones always stay.",
                "`memory.keep_turns` says how many.",
            )
        return self._planned(free, "asked", instructions)

    def warning(self) -> Compaction | None:
        """Before the first compaction: what will go with it, once it is two turns away or less."""
        sizes = self.sizes()
        usual = sizes[-1].n_tokens if sizes else 0
        if self.context.summary or len(self.stable.ids) + 2 * usual < self.room.soft:
            return None
        plan = self.plan("idle", self.runtime.memory.keep_turns)
        if plan is None:
            return None
        return Compaction("planned", "idle", plan.turns, tokens_before=len(self.stable.ids))

    def sizes(self) -> list[TurnSize]:
        """The turns that stand in the context, oldest first."""
        sizes, heat = turn_sizes(self.stable), self.runtime.standing.heat
        return [
            TurnSize(
                round.turn,
                round.user_id,
                sizes.get(round.turn, 0),
                round.user_id in self.context.pins,
                heat.get(round.turn, 0.0),
            )
            for round in self.context.in_context()
        ]

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────────

    def _planned(self, going: Iterable[TurnSize], reason: Reason, instructions: str = "") -> Plan:
        turns = {size.turn for size in going}
        rounds = tuple(round for round in self.context.rounds if round.turn in turns)
        return Plan(rounds, reason, self.policy, self.room, instructions)

    def _fixed(self) -> int:
        """Tokens that stand before the turns after a compaction."""
        n_tokens = turn_sizes(self.stable).get(0, 0)
        if not self.policy.summarizes:
            return n_tokens
        held = self.context.summary.text if self.context.summary else ""
        return n_tokens + max(0, self.room.summary - (self.runtime.codec.count(held) if held else 0))

    def _sheds(self, sizes: list[TurnSize]) -> bool:
        return any(not size.pinned for size in sizes)

    def _turns_since(self) -> int | None:
        """Turns begun since the last compaction; None if there was none."""
        record = self.context.summary
        if record is None:
            return None
        return sum(1 for round in self.context.rounds if round.messages[0].created_at > record.created_at)

    def _shared_out(self) -> Room:
        codec, system = self.runtime.codec, self.context.system
        return share_out(
            self.runtime.engine.limit_tokens,
            self.runtime.memory,
            system=codec.count(system) if system else 0,
            request=codec.count(summary.request("", limit_words=99)),
            max_new_tokens=self.runtime.max_new_tokens,
        )
