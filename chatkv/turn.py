"""One turn: match the KV, prefill the rest, decode, save. Whatever ends it, ledger = KV and the answer is stored.

Counts come from the calls themselves: the prefiller reports what it fed, the decoder what it fed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from chatkv.answer import GrowingAnswer
from chatkv.engine.decode import Decoder
from chatkv.engine.local import OutOfMemory
from chatkv.engine.sampling import Sampler
from chatkv.errors import ChatkvError
from chatkv.protocol import Error, Event, Finish, Prefill, PrefixBreak, Turn
from chatkv.runtime import Runtime
from chatkv.tokens import Rendered

_KV_EVENT_EVERY_S = 0.25
_SHOWN_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an answer follows: `ids` that end where it begins. `expected` is how much of them the KV should hold.

    `in_turn` of them were prefilled while room was made, after the message came in.
    """

    rendered: Rendered
    expected: int = 0
    in_turn: int = 0


@dataclass(frozen=True, slots=True)
class Order:
    """What to answer. `prepare` makes room and says what the prompt is; events and errors in it are the turn's."""

    prepare: Callable[[Callable[[], bool]], Generator[Event, None, Prompt]]
    turn: int
    user_id: int
    answer: GrowingAnswer
    max_new_tokens: int
    ceiling: int
    """Tokens that the KV may hold when the answer ends."""
    received_at: float
    """`time.perf_counter()` when the command came in: TTFT counts from here."""


class RunningTurn:
    """Runs one `Order`. Iterate `run`; afterwards `result` is the turn's event."""

    def __init__(self, runtime: Runtime, order: Order) -> None:
        self.runtime = runtime
        self.order = order
        self.reused = self.early = self.prefilled = self.decoded = self.recalled = 0
        self.finish: Finish = "error"
        self.out_of_memory = False
        """Whether the turn failed because an allocation did, at the smallest chunk."""
        self._first_at: float | None = None
        self._last_at = 0.0
        self._n_sampled = 0
        self._kv_at = 0.0

    def run(self, cancelled: Callable[[], bool]) -> Iterator[Event]:
        """Yield events up to and including the `turn` event. Engine failures become an `error` event before it."""
        try:
            prompt = yield from self.order.prepare(cancelled)
            if cancelled():
                self.finish = "cancelled"
            else:
                yield from self._prefill(prompt, cancelled)
                yield from self._decode(prompt, cancelled)
        except ChatkvError as error:
            self.finish = "error"
            self.out_of_memory = isinstance(error, OutOfMemory)
            yield Error(error.message, error.hint, "send")
        except BaseException as error:
            self.order.answer.finish("cancelled" if isinstance(error, GeneratorExit) else "error")
            raise
        finally:
            assert self.runtime.engine.in_step(), "ledger and KV differ"
        yield from self.order.answer.finish(self.finish)
        yield self.runtime.kv_event()
        yield self.result()
        self.runtime.engine.ledger.mark()

    def result(self) -> Turn:
        """The turn's numbers."""
        kv = self.runtime.kv_event()
        ttft = None if self._first_at is None else self._first_at - self.order.received_at
        n_later = self._n_sampled - 1
        tpot = (
            (self._last_at - self._first_at) / n_later if self._first_at is not None and n_later > 0 else None
        )
        return Turn(
            turn=self.order.turn,
            user_id=self.order.user_id,
            message_id=self.order.answer.message.id,
            finish=self.finish,
            reused=self.reused,
            prefilled=self.prefilled,
            prefilled_early=self.early,
            decoded=self.decoded,
            recalled=self.recalled,
            ttft_s=ttft,
            tpot_s=tpot,
            kv_used_bytes=kv.used_bytes,
            kv_reserved_bytes=kv.reserved_bytes,
            kv_budget_bytes=kv.budget_bytes,
            kv_tokens=kv.tokens,
        )

    def _prefill(self, wanted: Prompt, cancelled: Callable[[], bool]) -> Iterator[Event]:
        engine, prompt = self.runtime.engine, wanted.rendered
        expected = min(wanted.expected, len(prompt.ids) - 1)
        kept = self.runtime.prefiller.reachable(prompt.ids)
        if kept < expected:
            yield prefix_break(self.runtime, prompt.ids, kept=kept, expected=expected)
        self.runtime.prefiller.match(prompt.ids)
        self.reused = min(kept, engine.ledger.low)
        self.prefilled = min(wanted.in_turn, kept - self.reused)
        self.early = kept - self.reused - self.prefilled
        self.recalled = sum(
            s.n_tokens for s in prompt.segments if (s.kind, s.turn) == ("recalled", self.order.turn)
        )
        engine.reserve(len(prompt.ids))
        total = len(prompt.ids) - kept + self.prefilled
        yield Prefill(self.prefilled, total, reused=self.reused, prefilled_early=self.early)
        for n_fed in self.runtime.prefiller.run(prompt, cancelled):
            self.prefilled += n_fed
            yield Prefill(self.prefilled, total, reused=self.reused, prefilled_early=self.early)
        if len(engine.ledger) == len(prompt.ids):
            self.runtime.standing.warm(prompt.segments, self.runtime.prefiller.looked_at, self.order.turn)

    def _decode(self, prompt: Prompt, cancelled: Callable[[], bool]) -> Iterator[Event]:
        engine, answer = self.runtime.engine, self.order.answer
        if len(engine.ledger) < len(prompt.rendered.ids):
            self.finish = "cancelled"
            return
        yield self.runtime.kv_event()
        sampler = Sampler(self.runtime.sampling, engine.logits.device)
        decoder = Decoder(
            engine,
            sampler,
            end_ids=self.runtime.end_ids,
            limit=self.order.max_new_tokens,
            turn=self.order.turn,
            ceiling=self.order.ceiling,
        )
        try:
            for token in decoder.run(cancelled):
                self._clock()
                yield from answer.take(token)
                answer.save_if_due()
                if answer.stopped:
                    decoder.ended = "stop"
                    break
                if self._last_at - self._kv_at > _KV_EVENT_EVERY_S:
                    self._kv_at = self._last_at
                    yield self.runtime.kv_event()
            self.finish = decoder.ended
        finally:
            self.decoded = decoder.fed
        engine.checkpoint()

    def _clock(self) -> None:
        self._last_at = time.perf_counter()
        self._n_sampled += 1
        if self._first_at is None:
            self._first_at = self._kv_at = self._last_at


def prefix_break(runtime: Runtime, ids: Sequence[int], *, kept: int, expected: int) -> PrefixBreak:
    """The event for a KV that keeps `kept` tokens where `expected` should have been those of `ids`.

    Call it before the KV is cut: it quotes what the ledger holds there.
    """
    ledger = runtime.engine.ledger
    shared = ledger.shared(ids)
    reason = "an earlier part of the conversation is rendered differently now"
    if kept < shared:
        reason = "the layers of this model can only go back to a checkpoint"
        if runtime.engine.cache.rollback == "rebuild":
            reason = "the layers of this model cannot go back at all"
    was = runtime.codec.decode(ledger.ids[shared : shared + _SHOWN_TOKENS])
    found = runtime.codec.decode(ids[shared : shared + _SHOWN_TOKENS])
    return PrefixBreak(kept, was, found, expected - kept, reason)
