"""What is done about the KV between turns and before one: settle it, let recalled text go, compact, heal.

All of it can be interrupted between two steps. Nothing here is needed for an answer to be right, only for it to
come soon and to fit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Sequence

from chatkv.engine.local import OutOfMemory
from chatkv.kv.ledger import clip
from chatkv.kv.moves import splice
from chatkv.protocol import Event, Idling, Notice, Prefill
from chatkv.runtime import Runtime
from chatkv.session.compaction import Cancelled, Draft, Plan, RunningCompaction
from chatkv.session.context import Context
from chatkv.session.keeping import Keeper
from chatkv.session.planning import Planner
from chatkv.store import MessageRecord
from chatkv.tokens import Rendered
from chatkv.turn import prefix_break

Work = Generator[Event, None, None]

_TAIL_AFTER_S = 20.0
"""Idle time after which the tokens behind the last full block are written: sooner, every turn would write them anew."""
_FRONT = 6
"""One moved token in so many, from the first on, is computed exactly before anything is answered on them.

What follows builds on it: in the first kept turn stand, for the first time now, words that used to be repetitions.
"""
_LOWERED_SHARE = 0.8
_LEAST_LIMIT = 256
"""Tokens below which it is not the KV that takes the memory."""


class Upkeep:
    """Looks after the KV of one context. `step` does a moment of idle work while `has_work`.

    `in_turn` is how many tokens of the next prompt `make_room` prefilled.
    """

    def __init__(self, runtime: Runtime, context: Context) -> None:
        self.runtime = runtime
        self.context = context
        self.planner = Planner(runtime, context)
        self.keeper = Keeper(runtime, context)
        self.in_turn = 0
        self.doing: Idling = ""
        """What the last step was about, as far as it goes on."""
        self._confirmed = self._front = 0
        self._work: Work | None = None
        self._resting = False
        self._tail_at: float | None = None
        self._draft = Draft()
        self._warned = False
        self._tried: int | None = None
        runtime.standing.heat = {}
        self.adopt(runtime)

    # ── what the conversation tells ──────────────────────────────────────────────────────────────────────

    def adopt(self, runtime: Runtime) -> None:
        """Go on with changed settings; the KV is compared with what they render, not assumed."""
        self.interrupt()
        self.runtime = runtime
        self.planner.adopt(runtime)
        self.keeper.runtime = runtime
        self.context.keeps_recalled = not runtime.engine.cache.can_move
        engine = runtime.engine
        engine.rewind(engine.limit_tokens)
        engine.cache.shrink(engine.limit_tokens)
        engine.make_way(len(engine.ledger))
        confirmed = min(self._confirmed, len(engine.ledger))
        self.moved()
        self._confirmed = confirmed

    def follow(self, path: Sequence[MessageRecord]) -> None:
        """Make `path` the branch in use; the KV is settled to it when idle."""
        self.context.follow(path)
        self.moved()

    def moved(self) -> None:
        """The conversation is not where it was: there may be work again."""
        self.interrupt()
        self.planner.moved()
        self._resting, self._confirmed, self._tail_at = False, 0, None
        standing = self.runtime.standing
        standing.room = self.planner.room
        turns = (round.turn for round in self.context.rounds if round.user_id in self.context.pins)
        standing.pinned = frozenset(turns)

    def rest(self) -> None:
        """No more idle work until the conversation moves on."""
        self.interrupt()
        self._resting, self._tail_at = True, None

    def interrupt(self) -> None:
        """Give way: what was begun is undone, so that the KV is the ledger's and whole."""
        work, self._work, self.doing = self._work, None, ""
        if work is not None:
            work.close()

    def cut_draft(self) -> None:
        """Take out what was prefilled for a message that is not sent."""
        engine = self.runtime.engine
        if engine.ledger.n_drafted:
            engine.rewind(len(engine.ledger) - engine.ledger.n_drafted)

    def expected(self, prompt: Rendered) -> int:
        """How many tokens of `prompt` should be in the KV: those that were settled, and what earlier turns share."""
        ledger = self.runtime.engine.ledger
        if not self.context.path or ledger.shared(prompt.ids) >= len(ledger):
            return 0
        return max(self._confirmed, ledger.shared(self.planner.stable.ids))

    # ── idle ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def has_work(self) -> bool:
        """Whether `step` would do something."""
        return not self._resting or self.due_in_s() == 0

    def due_in_s(self) -> float | None:
        """Seconds until there is something to do although nothing happens; None: there will not be."""
        return None if self._tail_at is None else max(0.0, self._tail_at - time.monotonic())

    def step(self) -> Work:
        """A moment of idle work."""
        if self._resting:
            self.doing = "writing"
            yield from self.put_away()
            self.doing = ""
            return
        if self._work is None:
            self._work = self._idle()
        try:
            yield next(self._work)
        except StopIteration:
            self._work, self._resting, self.doing = None, True, ""
            self._tail_at = time.monotonic() + _TAIL_AFTER_S

    def _idle(self) -> Work:
        engine, planner = self.runtime.engine, self.planner
        self.doing = "settling"
        yield from self._drop_recalled()
        yield from self._settle()
        self.doing = "writing"
        yield from self.keeper.save(planner.stable)
        yield from self._warn()
        plan = planner.when_idle()
        leaf = self.context.leaf.id if self.context.leaf else None
        if plan is not None and self._tried != leaf:
            self.doing = "compacting"
            yield from self._compact(plan, _never)
            self._tried = leaf
            self.doing = "settling"
            yield from self._settle()
        self.doing = "healing"
        while planner.policy.heals and engine.cache.can_move and self.runtime.prefiller.heal_step():
            at = engine.ledger.first_of("E2")
            yield Prefill(len(engine.ledger) if at is None else at, len(engine.ledger), early=True)
        self.doing = "writing"
        yield from self.keeper.save(planner.stable)
        engine.cache.give_back()
        self.doing = ""
        yield self.runtime.kv_event()

    def _settle(self) -> Work:
        """Canonicalize: cut the KV to the stable prefix, prefill what it lacks of it."""
        engine, stable = self.runtime.engine, self.planner.stable
        kept = engine.nearest(engine.ledger.shared(stable.ids))
        if kept < min(self._confirmed, len(stable.ids) - 1):
            yield prefix_break(self.runtime, stable.ids, kept=kept, expected=self._confirmed)
        if len(stable.ids) > engine.limit_tokens:
            return
        while True:
            self.doing = "reading"
            yield from self.keeper.restore(stable, whole=True)
            self.doing = "settling"
            if not self.runtime.prefiller.idle_step(stable):
                break
            yield Prefill(len(engine.ledger), len(stable.ids), early=True)
        engine.checkpoint()
        self._confirmed = len(stable.ids)

    def _drop_recalled(self) -> Work:
        """Let text that was recalled for an earlier turn go by moving what stands behind it: nothing is read again."""
        engine = self.runtime.engine
        if self.context.keeps_recalled or all(s.kind != "recalled" for s in engine.ledger.segments):
            return
        new = self.planner.stable
        way = splice(Rendered(tuple(engine.ledger.ids), engine.ledger.segments), new)
        n_built = way.built - way.shared
        if not way.moves or n_built > self.runtime.prefiller.chunk or not engine.turnings:
            return
        try:
            engine.replace(way.shared, new.ids[way.shared : way.built], way.moves)
            self.in_turn += n_built
        except (
            OutOfMemory
        ):  # the KV is cut to what is shared; the rest is prefilled as if it had never been there
            return
        engine.ledger.relabel(clip(new.segments, len(engine.ledger)))
        self._confirmed = min(self._confirmed, way.shared)
        yield self.runtime.kv_event()

    # ── room ─────────────────────────────────────────────────────────────────────────────────────────────

    def make_room(self, n_new: int, cancelled: Cancelled) -> Work:
        """Compact until a message of `n_new` tokens and its answer fit.

        Once for the usual reasons; with ever fewer turns kept only where the message would not fit at all.
        """
        self.interrupt()
        self.in_turn = 0
        yield from self._drop_recalled()
        if self.planner.is_full(n_new):
            yield from self._shed(n_new, cancelled)
        yield from self.heal_front(cancelled)

    def heal_front(self, cancelled: Cancelled) -> Work:
        """Before an answer: see that the first of what a compaction moved is exact. The rest can wait for idle time."""
        engine = self.runtime.engine
        try:
            while not cancelled() and (n_read := self.runtime.prefiller.heal_step(self._front)):
                engine.ledger.renewed(n_read)
                self.in_turn += n_read
                yield Prefill(self.in_turn, self.in_turn, reused=engine.ledger.low)
        except OutOfMemory:
            return

    def _shed(self, n_new: int, cancelled: Cancelled) -> Work:
        yield from self.keeper.restore(self.planner.stable, whole=True)
        yield from self._warn()
        for keep in self.planner.keeps(n_new):
            plan = self.planner.plan("full", keep, n_new)
            if plan is not None and not cancelled():
                yield from self._compact(plan, cancelled)
            if cancelled() or self.planner.fits(n_new):
                return

    def put_away(self) -> Work:
        """Write what is not on disk yet: the conversation is left, or nobody has said anything for a while."""
        self.interrupt()
        self._tail_at = None
        yield from self.keeper.save(self.planner.stable, tail=True)

    def lower_limit(self) -> Notice:
        """Memory ran out although the budget allows more: from now on the KV may hold less, so that old turns go."""
        engine = self.runtime.engine
        engine.limit(max(_LEAST_LIMIT, int(len(engine.ledger) * _LOWERED_SHARE)))
        self.adopt(self.runtime)
        text = f"Memory ran out: the KV may hold {engine.limit_tokens:,} tokens from now on. Send it again."
        return Notice(text, "warning")

    def compact(self, instructions: str, cancelled: Cancelled) -> Work:
        """Compact now, because a person asked. Raises `UsageError` if nothing can go."""
        self.interrupt()
        plan = self.planner.asked(instructions)
        yield from self._drop_recalled()
        yield from self.keeper.restore(self.planner.stable, whole=True)
        yield from self._compact(plan, cancelled)
        self.moved()

    def _warn(self) -> Work:
        warning = None if self._warned else self.planner.warning()
        if warning is not None:
            self._warned = True
            yield warning

    def _compact(self, plan: Plan, cancelled: Cancelled) -> Work:
        self.cut_draft()
        running = RunningCompaction(self.runtime, self.context, plan, self._draft)
        for event in running.run(cancelled):
            if event.stage == "done":
                self.planner.moved()
                self._confirmed = 0
                self.in_turn += running.built
                self._front = self._owed()
            yield event
        if running.record is not None:
            yield self.context.marks()
            yield self.runtime.kv_event()

    def _owed(self) -> int:
        """Up to where moved tokens must be exact before anything is answered on them."""
        ledger = self.runtime.engine.ledger
        first = ledger.first_of("E2")
        if first is None or not self.planner.policy.heals:
            return 0
        return first + math.ceil((len(ledger) - first) / _FRONT)


def _never() -> bool:
    return False
