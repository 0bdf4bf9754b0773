"""Keeps a worker process running and passes on what it says: restarts it when it dies, gives up when that is futile.

Knows nothing of the screen; the conversation is led back by whoever hears `Started`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from chatkv.client import Death, WorkerClient
from chatkv.errors import WorkerError
from chatkv.protocol import Command, Error, Event

DEATHS_ALLOWED = 3
WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Started:
    """A worker process runs and hears commands."""


@dataclass(frozen=True, slots=True)
class Died:
    """The worker process is gone. `final`: it will not be restarted until `try_again` is called, since it died too
    often or said that it cannot load the model."""

    reason: str
    final: bool


class Link:
    """The worker process, kept alive. `clock` gives seconds that only grow."""

    def __init__(self, client: WorkerClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._deaths: list[float] = []
        self._again = asyncio.Event()
        self._closed = asyncio.Event()

    async def news(self) -> AsyncGenerator[Event | Started | Died, None]:
        """Start the worker, and say what it says, over its deaths, until `close`."""
        while not self._closed.is_set():
            reason, hopeless = "", False
            try:
                await self._client.restart()
                yield Started()
                async for item in self._client.events():
                    if isinstance(item, Death):
                        reason = reason or item.reason
                        continue
                    if isinstance(item, Error) and item.command == "load":
                        reason, hopeless = f"{item.message} {item.hint}".strip(), True
                    yield item
            except WorkerError as error:
                reason = str(error)
            if self._closed.is_set():
                return
            final = self._count_death() or hopeless
            yield Died(reason, final)
            if final:
                await self._again.wait()

    async def send(self, command: Command) -> None:
        """Pass a command on. One that finds no worker is dropped: its death is being told, and says what to do."""
        try:
            await self._client.send(command)
        except WorkerError:
            return

    def try_again(self) -> None:
        """Restart after giving up."""
        self._deaths.clear()
        self._again.set()

    async def close(self) -> None:
        """End the worker; `news` ends too."""
        self._closed.set()
        self._again.set()
        await self._client.close()

    def _count_death(self) -> bool:
        now = self._clock()
        self._deaths = [*(death for death in self._deaths if now - death < WITHIN_S), now]
        self._again.clear()
        return len(self._deaths) >= DEATHS_ALLOWED
