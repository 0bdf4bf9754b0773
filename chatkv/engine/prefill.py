"""Bring the KV to a given prompt: reuse what it already holds, feed the rest in chunks, give way between chunks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext

from chatkv.engine.local import LocalEngine, OutOfMemory
from chatkv.engine.observe import observed
from chatkv.kv.ledger import clip
from chatkv.tokens import Rendered, Segment

_SMALLEST_CHUNK = 16
_IDLE_SHARE = 4
_DRAFT_STEP_S = 0.1


class Prefiller:
    """Feeds prompts to one engine, `chunk` tokens a call."""

    def __init__(self, engine: LocalEngine, chunk: int) -> None:
        self.engine = engine
        self.chunk = chunk
        self.looked_at: list[float] = []
        """Attention that the end of the last prompt paid to each position; see `Observation.mass`."""
        self.tokens_per_s: float | None = None
        """How fast prompts are read here, newer chunks weighing more; None before the first."""
        self._looked_to = -1

    def reachable(self, ids: Sequence[int]) -> int:
        """How much of the KV `match` would keep."""
        return self.engine.nearest(min(self.engine.ledger.shared(ids), len(ids) - 1))

    def match(self, ids: Sequence[int]) -> int:
        """Cut the KV to its common prefix with `ids` (at most all but one) and return the length kept."""
        return self.engine.rewind(min(self.engine.ledger.shared(ids), len(ids) - 1))

    def run(self, prompt: Rendered, cancelled: Callable[[], bool], *, share: int = 1) -> Iterator[int]:
        """Feed what the ledger lacks of `prompt`; yield the tokens fed after each chunk, or `share`-th part of one.

        The ledger must be a proper prefix of the prompt (`match`). Ends early, between chunks, once `cancelled`.
        Raises `EngineError`; everything fed before stays.
        """
        engine, ids = self.engine, prompt.ids
        chunk = max(1, self.chunk // share)
        # The end of a message that was read ahead has looked around then; the token that is left would tell little.
        looked, self._looked_to = self._looked_to == len(engine.ledger) == len(ids) - 1, -1
        while len(engine.ledger) < len(ids) and not cancelled():
            start = len(engine.ledger)
            end = min(start + chunk, len(ids))
            if engine.cache.rollback == "checkpoint" and start < len(ids) - 1 <= end:
                end = len(ids) - 1
            try:
                with observed(engine.n_layers) if end == len(ids) and not looked else nullcontext() as seen:
                    self._feed(ids[start:end], prompt.segments)
                if seen is not None:
                    self.looked_at = seen.mass
            except OutOfMemory:
                if chunk <= _SMALLEST_CHUNK:
                    raise
                chunk = max(_SMALLEST_CHUNK, chunk // 4)
                continue
            if len(engine.ledger) == len(ids) - 1:
                engine.checkpoint()
            yield end - start

    def idle_step(self, stable: Rendered) -> int:
        """Feed a short chunk of `stable`; 0 when the ledger holds all of it. The next prompt begins with it, so that a
        message which comes meanwhile waits only for work it needs done anyway."""
        engine, ids = self.engine, stable.ids
        shared = engine.ledger.shared(ids)
        if shared == len(ids):
            n_more = len(engine.ledger) - len(ids)
            n_drafted = min(n_more, engine.ledger.n_drafted)
            more = (Segment("wrapper", 0, n_more - n_drafted), Segment("draft", 0, n_drafted))
            engine.ledger.relabel([*stable.segments, *more])
            return 0
        start = engine.rewind(shared)
        self._feed(ids[start : start + max(1, self.chunk // _IDLE_SHARE)], stable.segments)
        return len(engine.ledger) - start

    def draft_step(self, prompt: Rendered, upto: int, settled: int, *, most: int | None = None) -> int:
        """Feed a chunk of a prompt that may never be sent, up to its `upto`-th id; how many tokens that is.

        The ledger must be a prefix of it. What stands behind the first `settled` ids is labelled as a draft's. `most`:
        as many tokens at once; without it few, since the text still grows and what is fed may be in vain.
        """
        engine, start = self.engine, len(self.engine.ledger)
        if most is None:
            in_time = max(_SMALLEST_CHUNK, int((self.tokens_per_s or 0) * _DRAFT_STEP_S))
            most = min(in_time, self.chunk // _IDLE_SHARE)
        end = min(max(start, upto), start + max(1, most))
        owners = [*clip(prompt.segments, settled), Segment("draft", 0, end - settled)]
        if end == start:
            engine.ledger.relabel(owners)
            return 0
        with observed(engine.n_layers) if end == len(prompt.ids) - 1 else nullcontext() as seen:
            self._feed(prompt.ids[start:end], owners)
        self._looked_to = -1
        if seen is not None:
            self.looked_at, self._looked_to = seen.mass, end
        return end - start

    def heal_step(self, up_to: int | None = None) -> int:
        """Compute a short chunk of moved tokens exactly, in place; 0 when there are none (before `up_to`)."""
        engine = self.engine
        start, last = engine.ledger.first_of("E2"), len(engine.ledger)
        last = last if up_to is None else min(last, up_to)
        if start is None or start >= last:
            return 0
        end = min(last, start + max(1, self.chunk // _IDLE_SHARE))
        engine.refresh(start, end)
        return end - start

    def _feed(self, ids: Sequence[int], segments: Sequence[Segment]) -> None:
        started = time.perf_counter()
        self.engine.feed(ids, "wrapper", 0)
        if len(ids) >= _SMALLEST_CHUNK:
            rate = len(ids) / (time.perf_counter() - started)
            self.tokens_per_s = rate if self.tokens_per_s is None else (self.tokens_per_s + rate) / 2
        self.engine.ledger.relabel(segments)
