"""A conversation under test: drives a real `Session` on a real store, and checks the promise after every step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from chatkv.config import Config, MemoryConfig, PrefillConfig, SamplingConfig
from chatkv.engine.loader import LoadedModel
from chatkv.protocol import Error, Event, Turn
from chatkv.runtime import build_runtime
from chatkv.session import Session
from chatkv.store import MessageRecord, Store
from chatkv.tokens import Message

GREEDY = SamplingConfig(temperature=0.0, max_new_tokens=8)


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
    ) -> None:
        self.loaded = loaded
        self.reference = reference
        config = replace(
            Config(), sampling=GREEDY, prefill=PrefillConfig(chunk), memory=MemoryConfig("1 GiB")
        )
        self.runtime = build_runtime(loaded, config)
        self.store = Store.open(file)
        self.session = Session(self.runtime, self.store, system=system)
        self.events: list[Event] = []

    def say(self, text: str, limit: int = 8, stop_after: int | None = None) -> Turn:
        return self._turn(
            self.session.send(
                text, countdown(stop_after), max_new_tokens=limit, received_at=time.perf_counter()
            )
        )

    def regenerate(self, limit: int = 8, stop_after: int | None = None) -> Turn:
        return self._turn(
            self.session.regenerate(
                countdown(stop_after), max_new_tokens=limit, received_at=time.perf_counter()
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
        list(self.session.fork(message_id))
        self.check()

    def idle(self, n_steps: int = 10_000) -> None:
        while self.session.has_idle_work and n_steps > 0:
            list(self.session.idle_step())
            self.check_lengths()
            n_steps -= 1

    def resume(self, *, fresh_engine: bool) -> None:
        """Open the session again from the store, as a new process would (`fresh_engine`) or as a switch does."""
        if self.session.record is None:
            return
        if fresh_engine:
            config = replace(Config(), sampling=GREEDY, prefill=PrefillConfig(self.runtime.prefiller.chunk))
            self.runtime = build_runtime(self.loaded, config)
        record = self.store.session(self.session.record.id)
        self.session = Session(self.runtime, self.store, record=record)
        self.check()

    @property
    def path(self) -> list[MessageRecord]:
        record = self.session.record
        if record is None:
            return []
        leaf = self.store.session(record.id).leaf_id
        return [] if leaf is None else self.store.path(leaf)

    def messages(self, path: list[MessageRecord]) -> list[Message]:
        record = self.session.record
        system = [Message("system", record.system)] if record and record.system else []
        return system + [Message(m.role, m.text, m.turn, m.ids, m.answer_start, m.thought) for m in path]

    def check(self) -> None:
        """Ledger = KV in every layer; the newest answer is what the model says without any cache."""
        self.check_lengths()
        path = self.path
        if self.reference is None or not path or not path[-1].ids or path[-1].role != "assistant":
            return
        prompt = self.runtime.chat.render(self.messages(path[:-1]), answer=True)
        assert_greedy(self.reference, prompt.ids, path[-1].ids)

    def check_lengths(self) -> None:
        engine = self.runtime.engine
        lengths = set(engine.cache.lengths())
        assert lengths <= {len(engine.ledger)}, f"layers {lengths}, ledger {len(engine.ledger)}"
        assert sum(segment.n_tokens for segment in engine.ledger.segments) == len(engine.ledger)

    def _turn(self, events: Iterator[Event]) -> Turn:
        self.events = []
        for event in events:
            self.events.append(event)
            self.check_lengths()
        self.check()
        turn = next(event for event in self.events if isinstance(event, Turn))
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
