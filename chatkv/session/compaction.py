"""One compaction, step by step: ask the live KV for a summary, roll back, build the new beginning, swap.

Runs as a generator that may be closed between any two steps: the old state is then whole. What has been decided is
in the store before the KV changes, and the KV is compared with what it says, so a death in between costs time only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from chatkv.engine.decode import Decoder
from chatkv.engine.local import OutOfMemory
from chatkv.engine.sampling import Sampler, Sampling
from chatkv.kv.ledger import clip
from chatkv.kv.moves import Splice, splice
from chatkv.memory import summary
from chatkv.memory.policy import Policy
from chatkv.memory.room import Room
from chatkv.protocol import Compaction
from chatkv.runtime import Runtime
from chatkv.session.context import Context, Round
from chatkv.store import SummaryRecord
from chatkv.tokens import Message, Rendered, Segment

Cancelled = Callable[[], bool]
Reason = Literal["idle", "full", "asked"]
_WORDS_A_TOKEN = 0.7
_ENOUGH_UNSOUND = 2
_ASKED_AGAIN_AFTER = 5
"""Compactions after which a model whose summaries were of no use is asked once more."""
_SHORTEST_CIRCLE, _LONGEST_CIRCLE = 4, 40


@dataclass(slots=True)
class Draft:
    """A summary begun and interrupted: the ids decoded so far, and the turns that were to go.

    It is about the whole conversation, so it serves as well when more turns go by the time it is finished.
    `unsound`: how many of the model's last summaries in a row were of no use; `unasked`: compactions since it was
    asked.
    """

    turns: tuple[int, ...] = ()
    ids: list[int] = field(default_factory=list)
    unsound: int = 0
    unasked: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do: which turns go, oldest first, why, and what the summary should pay attention to."""

    going: tuple[Round, ...]
    reason: Reason
    policy: Policy
    room: Room
    instructions: str = ""

    @property
    def turns(self) -> tuple[int, ...]:
        """Numbers of the turns that go."""
        return tuple(round.turn for round in self.going)


class RunningCompaction:
    """Carries out one `Plan`. Iterate `run`; `record` is then the summary in force, None if it was given up."""

    def __init__(self, runtime: Runtime, context: Context, plan: Plan, draft: Draft) -> None:
        self.runtime = runtime
        self.context = context
        self.plan = plan
        self.record: SummaryRecord | None = None
        self.prefilled = self.decoded = 0
        self.built = 0
        """Tokens of the new beginning that were prefilled: they are part of the next prompt."""
        if plan.instructions or plan.turns[: len(draft.turns)] != draft.turns:
            draft.ids = []
        draft.turns = plan.turns
        self._draft = draft
        self._started = time.perf_counter()
        self._before = len(runtime.engine.ledger)

    def run(self, cancelled: Cancelled) -> Iterator[Compaction]:
        """Yield an event after every moment of work, `done` or `given_up` last. Raises `ChatkvError`."""
        raw = None
        asks = self._asks
        self._draft.unasked = 0 if asks else self._draft.unasked + 1
        if asks:
            yield self._event("summarizing", total=self.plan.room.summary)
            try:
                raw = yield from self._ask(cancelled)
            except OutOfMemory:
                raw = None  # sentences can be extracted without any memory
        if cancelled():
            yield self._event("given_up", text="It was stopped.")
            return
        draft = self._drafted(raw)
        new = self._rendered(draft)
        if len(new.ids) >= len(self._rendered(None).ids):
            if self.plan.reason != "full":
                self._draft.ids = []
                yield self._event("given_up", text="The summary would be as long as what it stands for.")
                return
            draft = self._without_more()
            new = self._rendered(draft)
        swap_s = yield from self._swap(draft, new)
        self._draft.turns, self._draft.ids = (), []
        method = "prefilled" if swap_s is None else "rotated"
        done = self._event("done", text=draft.text, origin=draft.origin, method=method)
        yield replace(
            done,
            summary_id=self.record.id if self.record else None,
            tokens_after=len(new.ids),
            swap_s=swap_s or 0.0,
            total_s=time.perf_counter() - self._started,
        )

    def _ask(self, cancelled: Cancelled) -> Generator[Compaction, None, str | None]:
        """The model's own words, decoded on the live KV, which is as it was afterwards. None if there is no room."""
        engine, room = self.runtime.engine, self.plan.room
        messages = self.context.messages()
        stable = self.runtime.chat.stable_prefix(messages)
        wanted = summary.request(self.plan.instructions, limit_words=int(room.summary * _WORDS_A_TOKEN))
        turn = (self.context.leaf.turn if self.context.leaf else 0) + 1
        prompt = self.runtime.quiet.render([*messages, Message("user", wanted, turn)], answer=True)
        if prompt.ids[: len(stable.ids)] != stable.ids:
            prompt = self.runtime.chat.render([*messages, Message("user", wanted, turn)], answer=True)
        prompt = Rendered((*prompt.ids, *self._draft.ids), (*prompt.segments, *_owned(self._draft.ids, turn)))
        if len(prompt.ids) + room.summary - len(self._draft.ids) > engine.limit_tokens:
            return None
        yield from self._settle(stable, cancelled)
        before = len(engine.ledger)
        if before < len(stable.ids):
            return None
        try:
            for n_fed in self.runtime.prefiller.run(prompt, cancelled, share=4):
                self.prefilled += n_fed
                yield self._event("summarizing", done=len(self._draft.ids), total=room.summary)
            if len(engine.ledger) == len(prompt.ids):
                yield from self._decode(turn, cancelled)
        finally:
            engine.rewind(before)
        stream = self.runtime.chat.stream()
        pieces = [piece for token in self._draft.ids for piece in stream.feed(token)] + list(stream.finish())
        return "".join(text for channel, text in pieces if channel == "answer")

    def _settle(self, stable: Rendered, cancelled: Cancelled) -> Iterator[Compaction]:
        """Bring the live KV to what every next prompt begins with; the request comes behind it."""
        engine = self.runtime.engine
        engine.rewind(engine.ledger.shared(stable.ids))
        while not cancelled() and self.runtime.prefiller.idle_step(stable):
            yield self._event("summarizing", total=self.plan.room.summary)
        engine.checkpoint()

    def _decode(self, turn: int, cancelled: Cancelled) -> Iterator[Compaction]:
        engine, most = self.runtime.engine, self.plan.room.summary
        sampler = Sampler(Sampling(), engine.logits.device)
        left = most - len(self._draft.ids)
        decoder = Decoder(engine, sampler, end_ids=self.runtime.end_ids, limit=left, turn=turn)
        for token in decoder.run(cancelled):
            self._draft.ids.append(token)
            self.decoded += 1
            if _goes_in_circles(self._draft.ids):
                return
            yield self._event("summarizing", done=len(self._draft.ids), total=most)

    @property
    def _asks(self) -> bool:
        """Whether the model is asked. If what it wrote lately was of no use: seldom, and not while a person waits."""
        draft, reason = self._draft, self.plan.reason
        if not self.plan.policy.summarizes or not self.plan.room.request:
            return False
        if draft.unsound < _ENOUGH_UNSOUND or reason == "asked":
            return True
        return reason == "idle" and (bool(draft.ids) or draft.unasked >= _ASKED_AGAIN_AFTER)

    def _rendered(self, draft: SummaryRecord | None) -> Rendered:
        return self.runtime.chat.stable_prefix(self.context.messages(summary=draft))

    def _without_more(self) -> SummaryRecord:
        """The turns go, and the summary stays as it was."""
        before = self.context.summary
        text, edited = (before.text, before.edited) if before else ("", "")
        return self.context.drafted(self.plan.turns, text, origin="none", edited=edited)

    def _drafted(self, raw: str | None) -> SummaryRecord:
        plan, before = self.plan, self.context.summary
        edited = before.edited if before else ""
        if not plan.policy.summarizes:
            return self.context.drafted(plan.turns, edited, origin="none", edited=edited)
        words = summary.written(
            raw,
            [exchange_of(round) for round in plan.going],
            previous=before.text if before else "",
            edited=edited,
            limit=plan.room.summary,
            count=self.runtime.codec.count,
        )
        if raw is not None:
            self._draft.unsound = 0 if words.origin == "model" else self._draft.unsound + 1
        return self.context.drafted(plan.turns, words.text, origin=words.origin, edited=edited)

    def _way(self, new: Rendered) -> Splice | None:
        """How the live KV can become `new` by moving; None where it must be prefilled."""
        engine = self.runtime.engine
        held = Rendered(tuple(engine.ledger.ids), engine.ledger.segments)
        way = splice(held, new)
        beside = len(engine.ledger) + way.built <= engine.limit_tokens
        in_place = way.built - way.shared <= self.runtime.prefiller.chunk
        return way if way.moves and (beside or in_place) and engine.turnings else None

    def _swap(self, draft: SummaryRecord, new: Rendered) -> Generator[Compaction, None, float | None]:
        """Put `draft` in force and make the live KV `new`; seconds that moving took, None if it must be prefilled."""
        engine, way = self.runtime.engine, self._way(new)
        if way is None:
            self._adopt(draft)
            return None
        n_built = way.built - way.shared
        yield self._event("rebuilding", total=n_built)
        try:
            beside = len(engine.ledger) + way.built <= engine.limit_tokens
            if beside:
                yield from self._build(way, new)
            started = time.perf_counter()
            self._adopt(draft)
            if beside:
                engine.graft(way.shared, way.moves)
            else:
                engine.replace(way.shared, new.ids[way.shared : way.built], way.moves)
                self.prefilled += n_built
                self.built += n_built
        except OutOfMemory:
            self._adopt(draft)
            return None
        finally:
            engine.join()
        self._relabel(new)
        return time.perf_counter() - started

    def _build(self, way: Splice, new: Rendered) -> Iterator[Compaction]:
        """Prefill what is new of the beginning, beside the live KV."""
        engine, chunk = self.runtime.engine, max(1, self.runtime.prefiller.chunk // 4)
        engine.fork(way.shared, way.built - way.shared)
        for start in range(way.shared, way.built, chunk):
            end = min(start + chunk, way.built)
            engine.feed(new.ids[start:end], "wrapper", 0)
            self.prefilled += end - start
            self.built += end - start
            if end < way.built:
                yield self._event("rebuilding", done=end - way.shared, total=way.built - way.shared)

    def _adopt(self, draft: SummaryRecord) -> None:
        if self.record is None:
            self.record = self.context.adopt(draft)

    def _relabel(self, new: Rendered) -> None:
        ledger = self.runtime.engine.ledger
        if list(ledger.ids) == list(new.ids[: len(ledger)]):
            ledger.relabel(clip(new.segments, len(ledger)))

    def _event(self, stage: str, *, done: int = 0, total: int = 0, **more: str) -> Compaction:
        return Compaction(
            stage=stage,  # type: ignore[arg-type]
            reason=self.plan.reason,
            turns=self.plan.turns,
            done=done,
            total=total,
            tokens_before=self._before,
            prefilled=self.prefilled,
            decoded=self.decoded,
            **more,  # type: ignore[arg-type]
        )


def _owned(ids: Sequence[int], turn: int) -> tuple[Segment, ...]:
    return (Segment("answer", turn, len(ids)),) if ids else ()


def exchange_of(round: Round) -> summary.Exchange:
    """A turn as text: what was said, and the newest answer to it."""
    said = [message.text for message in round.messages if message.role == "user"]
    answered = [message.text for message in round.messages if message.role == "assistant"]
    return summary.Exchange(round.turn, "\n".join(said), answered[-1] if answered else "")


def _goes_in_circles(ids: Sequence[int]) -> bool:
    """Whether `ids` end with the same stretch three times over, as a small model at a loss does."""
    return any(
        len(ids) >= 3 * n and ids[-n:] == ids[-2 * n : -n] == ids[-3 * n : -2 * n]
        for n in range(_SHORTEST_CIRCLE, _LONGEST_CIRCLE)
    )
