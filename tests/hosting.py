"""A `Host` on a tiny model that was loaded before: commands in, and what it told."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from chatkv import host
from chatkv.config import Config, LoadConfig, MemoryConfig, SamplingConfig, StoreConfig
from chatkv.paths import Paths
from chatkv.protocol import (
    Command,
    Delta,
    Event,
    Saving,
    Turn,
)
from chatkv.store import Store


class Chat:
    """A host, and what it told."""

    def __init__(self, home: Path) -> None:
        self.events: list[Event] = []
        self.at_delta: Callable[[], None] | None = None
        config = Config(
            load=LoadConfig(threads=1),
            sampling=SamplingConfig(temperature=0.0, max_new_tokens=4),
            memory=MemoryConfig("4 MiB"),
            store=StoreConfig(kv="0"),
        )
        self.file = home / "chatkv.db"
        paths = Paths(home / "config.toml", self.file, home / "models", home / "worker.log")
        self.host = host.Host(config, paths, self._take)
        self.host.load()

    def do(self, command: Command, *, stopped: bool = False) -> list[Event]:
        """The events of one command."""
        start = len(self.events)
        self.host.handle(command, lambda: stopped, time.perf_counter())
        return self.events[start:]

    def wait(self) -> None:
        """As if some seconds had passed in which nothing was asked."""
        self.host.store._next_try = 0.0
        self.host.mend()

    def saving(self) -> list[bool]:
        return [event.ok for event in self.events if isinstance(event, Saving)]

    def told(self) -> list[str]:
        """The answers, as they were shown."""
        texts: dict[int, str] = {}
        for event in self.events:
            if isinstance(event, Delta):
                texts[event.message_id] = texts.get(event.message_id, "") + event.text
        return list(texts.values())

    def stored(self) -> list[tuple[str, str]]:
        """The newest session's branch as it is in the file: text and status."""
        with Store.open(self.file) as store:
            return [(m.text, m.status) for m in store.path(store.resolve("last").leaf_id)]

    def _take(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, Delta) and self.at_delta is not None:
            act, self.at_delta = self.at_delta, None
            act()


def finishes(events: list[Event]) -> list[str]:
    return [event.finish for event in events if isinstance(event, Turn)]
