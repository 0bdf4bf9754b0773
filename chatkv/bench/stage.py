"""A host for a bench: greedy, on a database of its own that is gone afterwards. Knows nothing of what is measured."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from chatkv.bench.watch import Watch
from chatkv.config import Config, SamplingConfig, StoreConfig
from chatkv.host import Host
from chatkv.paths import Paths
from chatkv.protocol import New, Send
from chatkv.tokens import Message


@contextmanager
def staged(config: Config, paths: Paths, watch: Watch, *, system: str, reply: int) -> Iterator[Host]:
    """The model loaded and a new conversation open, answers of at most `reply` tokens; `watch` sees every event."""
    with tempfile.TemporaryDirectory() as folder:
        sampling = replace(SamplingConfig(), temperature=0.0, max_new_tokens=reply)
        store = StoreConfig(database=str(Path(folder) / "bench.db"))
        host = Host(replace(config, sampling=sampling, store=store), paths, watch.take)
        try:
            host.load()
            watch.follow(host.runtime.engine)
            host.handle(New(system), never, time.perf_counter())
            yield host
        finally:
            host.close()


def say(host: Host, text: str) -> None:
    """One turn."""
    host.handle(Send(text), never, time.perf_counter())


def settle(host: Host, seconds: float | None = None) -> float:
    """Let idle work run, to its end or for `seconds`, as it does while a person reads; how long it took."""
    started = time.perf_counter()
    while host.has_idle_work and (seconds is None or time.perf_counter() - started < seconds):
        host.idle_step()
    return time.perf_counter() - started


def continuation(host: Host, following: tuple[str, str]) -> tuple[tuple[int, ...], int]:
    """The prompt of a further message with its answer, as ids; and how many of them stand before the message."""
    session, (message, answer) = host.session, following
    turn = session.leaf.turn + 1 if session.leaf else 1
    seen = [*session.context.messages(), Message("user", message, turn)]
    prompt = host.runtime.chat.render(seen, answer=True)
    return (*prompt.ids, *host.runtime.codec.encode_plain(answer)), len(session.upkeep.planner.stable.ids)


def never() -> bool:
    """Nobody stops a bench."""
    return False
