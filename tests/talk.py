"""A conversation under test: drives a real `Session` on a real store, and checks the promise after every step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from chatkv.config import Config, MemoryConfig, PrefillConfig, SamplingConfig, changed
from chatkv.engine.loader import LoadedModel
from chatkv.protocol import Compaction, Error, Event, Turn
from chatkv.runtime import build_runtime
from chatkv.session import Session
from chatkv.store import MessageRecord, Store

GREEDY = SamplingConfig(temperature=0.0, max_new_tokens=8)
ROOMY = MemoryConfig("1 GiB")


class Talk:
    """`reference` is a model with the same weights that keeps no cache; None compares nothing."""

    def __init__(
        self,
        loaded: LoadedModel,
        file: Path,
        *,
        reference: Any = None,
        system: str = "be kind",
        chunk: int = 16,
        memory: MemoryConfig = ROOMY,
    ) -> None:
        self.loaded = loaded
        self.reference = reference
        self.config = replace(Config(), sampling=GREEDY, prefill=PrefillConfig(chunk), memory=memory)
        self.runtime = build_runtime(loaded, self.config)
        self.store = Store.open(file)
        self.session = Session(self.runtime, self.store, system=system)
        self.events: list[Event] = []
        self._changed_at = 0.0
        self.spare_bytes = (
            0 if self.runtime.engine.cache.can_move else 1 << 20
        )  # states and their checkpoints

    def say(self, text: str, limit: int = 8, stop_after: int | None = None) -> Turn:
        return self._turn(
            self.session.send(
                text, countdown(stop_after), max_new_tokens=limit, received_at=time.perf_counter()
            )
        )

    def regenerate(
        self, limit: int = 8, stop_after: int | None = None, message_id: int | None = None
    ) -> Turn:
        return self._turn(
            self.session.regenerate(
                countdown(stop_after),
                max_new_tokens=limit,
                received_at=time.perf_counter(),
                message_id=message_id,
            )
        )

    def extend(self, limit: int = 8, stop_after: int | None = None) -> Turn:
        return self._turn(
            self.session.extend(countdown(stop_after), max_new_tokens=limit, received_at=time.perf_counter())
        )

    def edit(self, message_id: int, text: str, limit: int = 8, stop_after: int | None = None) -> Turn:
        stop = countdown(stop_after)
        return self._turn(
            self.session.edit(message_id, text, stop, max_new_tokens=limit, received_at=time.perf_counter())
        )

    def fork(self, message_id: int) -> None:
        self.do(self.session.fork(message_id))

    def idle(self, n_steps: int = 10_000) -> None:
        self.events = []
        while self.session.upkeep.has_work and n_steps > 0:
            for event in self.session.upkeep.step():
                self._take(event)
            n_steps -= 1

    def do(self, events: Iterable[Event]) -> None:
        """Anything but a turn."""
        self.events, self._changed_at = [], time.time()
        for event in events:
            self._take(event)
        self.check_lengths()

    def set(self, key: str, value: str | float | bool) -> None:
        """Change a setting while the session is open."""
        self.session.upkeep.interrupt()
        self.config = changed(self.config, key, value)
        self.runtime = build_runtime(self.loaded, self.config, self.runtime)
        self.session.adopt(self.runtime)
        self.check_lengths()

    def resume(self, *, fresh_engine: bool) -> None:
        """Open the session again from the store, as a new process would (`fresh_engine`) or as a switch does."""
        if self.session.record is None:
            return
        if fresh_engine:
            self.runtime = build_runtime(self.loaded, self.config)
        record = self.store.session(self.session.record.id)
        self.session = Session(self.runtime, self.store, record=record)
        self.check_lengths()

    @property
    def path(self) -> list[MessageRecord]:
        record = self.session.record
        if record is None:
            return []
        leaf = self.store.session(record.id).leaf_id
        return [] if leaf is None else self.store.path(leaf)

    def check(self) -> None:
        """The newest answer is what the model says without any cache.

        That cannot be said of an answer computed from moved keys, or begun in another context.
        """
        path, context = self.path, self.session.context
        if self.reference is None or not path or not path[-1].ids or path[-1].role != "assistant":
            return
        if self.runtime.engine.ledger.first_of("E2") is not None or self._changed_at > path[-1].created_at:
            return
        seen = context.messages(path[:-1], recalled_for=path[-2].id)
        prompt = self.session.runtime.chat.render(seen, answer=True)
        assert_greedy(self.reference, prompt.ids, path[-1].ids)

    def check_lengths(self) -> None:
        engine = self.runtime.engine
        lengths = set(engine.cache.lengths())
        assert lengths <= {len(engine.ledger)}, f"layers {lengths}, ledger {len(engine.ledger)}"
        assert sum(segment.n_tokens for segment in engine.ledger.segments) == len(engine.ledger)

    def _take(self, event: Event) -> None:
        """An event; while something is built beside the live KV, both parts are within the budget."""
        self.events.append(event)
        self.check_lengths()
        if isinstance(event, Compaction):
            self._changed_at = time.time()
        engine = self.runtime.engine
        assert (
            engine.cache.reserved_bytes
            <= engine.limit_tokens * self.loaded.bytes_per_token + self.spare_bytes
        )

    def _turn(self, events: Iterator[Event]) -> Turn:
        self.events = []
        for event in events:
            self._take(event)
        self.check_lengths()
        turn = next(event for event in self.events if isinstance(event, Turn))
        if self.path and self.path[-1].id == turn.message_id:
            self.check()
        failed = any(isinstance(event, Error) for event in self.events)
        assert failed == (turn.finish == "error")
        return turn


def countdown(n_calls: int | None) -> Callable[[], bool]:
    """A stop that comes after being asked for `n_calls` times; None: never."""
    left = [n_calls]

    def cancelled() -> bool:
        if left[0] is None:
            return False
        left[0] -= 1
        return left[0] < 0

    return cancelled


@torch.inference_mode()
def assert_greedy(reference: Any, prompt: tuple[int, ...], answer: tuple[int, ...]) -> None:
    """Each id of `answer` is the most probable one after what stands before it, in one pass without a cache.

    Two tokens closer than float32 can tell apart after another order of summation count as equal.
    """
    ids = torch.tensor([[*prompt, *answer]], device=reference.device)
    logits = reference(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1].float()
    chosen = logits.gather(1, ids[0, len(prompt) :, None])[:, 0]
    short = logits.max(dim=1).values - chosen
    assert float(short.max()) < 2e-4, (
        f"not the greedy answer at {int(short.argmax())}: {float(short.max()):.5f} short"
    )
