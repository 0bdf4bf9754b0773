"""Follows a session that another process writes: looks into the store once a second, and says what is new.

Knows nothing of the screen. What it cannot read it looks for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from chatkv.errors import ChatkvError
from chatkv.tui.behind.library import Glance, StoredChat
from chatkv.tui.behind.reader import Reader

EVERY_S = 1.0


class Follower:
    """`followed` names the session to look at, or None; `tell` gets a glance and, where turns changed, all of it."""

    def __init__(
        self,
        reader: Reader,
        followed: Callable[[], str | None],
        tell: Callable[[str, Glance, StoredChat | None], None],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._reader = reader
        self._followed = followed
        self._tell = tell
        self._pause = pause
        self._seen: tuple[str, Glance] | None = None

    async def run(self) -> None:
        """Look and tell until cancelled."""
        while True:
            await self._pause(EVERY_S)
            session = self._followed()
            if session is None:
                self._seen = None
            else:
                await self._look(session)

    async def _look(self, session: str) -> None:
        try:
            glance = await self._reader.ask(lambda library: library.glance(session))
            if self._seen == (session, glance):
                return
            before = self._seen[1] if self._seen and self._seen[0] == session else None
            grown = before is not None and before.shape == glance.shape
            writer = glance.writer
            chat = None if grown else await self._reader.ask(lambda lib: lib.chat(session, writer=writer))
        except ChatkvError:
            return
        if self._followed() == session:
            self._seen = (session, glance)
            self._tell(session, glance, chat)
