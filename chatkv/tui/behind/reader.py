"""Reads the store beside the screen: in one thread with a connection of its own, so that no key waits for a query."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from chatkv.tui.behind.library import Library

_Answer = TypeVar("_Answer")


class Reader:
    """Asks its own `library` one question at a time."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader")

    async def ask(self, question: Callable[[Library], _Answer]) -> _Answer:
        """What `question` gives of the library. Raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, question, self._library)

    async def close(self) -> None:
        """Answer nothing more; let go of the database."""
        await self.ask(Library.close)
        self._thread.shutdown()
