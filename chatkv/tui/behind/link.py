"""Keeps a worker process running and passes on what it says: restarts it when it dies, gives up when that is futile.

Starts it anew where another model is wanted, and with the former one where that cannot be loaded. Knows nothing of
the screen; the conversation is led back by whoever hears `Started`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from chatkv.client import Death, WorkerClient
from chatkv.errors import WorkerError
from chatkv.protocol import Command, Error, Event, Ready

DEATHS_ALLOWED = 3
WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Started:
    """A worker process runs and hears commands."""


@dataclass(frozen=True, slots=True)
class Left:
    """The worker process was ended, since another model is wanted; one for that comes next."""


@dataclass(frozen=True, slots=True)
class Died:
    """The worker process is gone. `final`: it will not be restarted until `try_again` is called, since it died too
    often or said that it cannot load the model. `unloadable`: that other model was wanted; the former comes next."""

    reason: str
    final: bool
    unloadable: str = ""


class Link:
    """The worker process, kept alive. `client_for` makes the client of one that loads this `model`; `clock` gives
    seconds that only grow."""

    def __init__(
        self,
        client_for: Callable[[str], WorkerClient],
        model: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = model
        """What the worker loads, or has loaded."""
        self.given_up = False
        self._client_for = client_for
        self._client = client_for(model)
        self._former = model
        """The last one that answered."""
        self._wanted: str | None = None
        self._clock = clock
        self._deaths: list[float] = []
        self._again = asyncio.Event()
        self._closed = asyncio.Event()

    async def news(self) -> AsyncGenerator[Event | Started | Left | Died, None]:
        """Start the worker, and say what it says, over its deaths, until `close`."""
        while not self._closed.is_set():
            self._take_wanted()
            reason, hopeless = "", False
            try:
                await self._client.restart()
                if not self._is_leaving():
                    yield Started()
                    async for item in self._client.events():
                        if isinstance(item, Death):
                            reason = reason or item.reason
                            continue
                        if isinstance(item, Error) and item.command == "load":
                            reason, hopeless = f"{item.message} {item.hint}".strip(), True
                        if isinstance(item, Ready):
                            if self._is_leaving():
                                continue  # it has to leave, and nothing may be asked of it
                            self._former = self.model
                        yield item
            except WorkerError as error:
                reason = str(error)
            if self._closed.is_set():
                return
            if self._is_leaving():
                await self._client.close()
                yield Left()
            elif self.model != self._former:
                unloadable, self._wanted = self.model, self._former
                yield Died(reason, final=False, unloadable=unloadable)
            else:
                self.given_up = self._count_death() or hopeless
                yield Died(reason, self.given_up)
                if self.given_up:
                    await self._again.wait()
                    self.given_up = False

    async def send(self, command: Command) -> None:
        """Pass a command on. One that finds no worker is dropped: its death is being told, and says what to do."""
        try:
            await self._client.send(command)
        except WorkerError:
            return

    async def change(self, model: str) -> None:
        """Have a worker with this model in place of the one that runs, which saves before it ends."""
        self._wanted = model
        self.try_again()
        await self._client.close()

    def try_again(self) -> None:
        """Restart after giving up."""
        self._deaths.clear()
        self._again.set()

    async def close(self) -> None:
        """End the worker; `news` ends too."""
        self._closed.set()
        self._again.set()
        await self._client.close()

    def _is_leaving(self) -> bool:
        return self._wanted is not None

    def _take_wanted(self) -> None:
        if self._wanted is not None:
            self.model, self._wanted = self._wanted, None
            self._client = self._client_for(self.model)

    def _count_death(self) -> bool:
        now = self._clock()
        self._deaths = [*(death for death in self._deaths if now - death < WITHIN_S), now]
        self._again.clear()
        return len(self._deaths) >= DEATHS_ALLOWED
