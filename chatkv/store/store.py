"""The store: one open database with everything chatkv remembers, put together from its parts."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from chatkv.store import search
from chatkv.store.claims import Claims
from chatkv.store.database import connect
from chatkv.store.history import History
from chatkv.store.memory import Memory
from chatkv.store.messages import Messages
from chatkv.store.records import SearchHit
from chatkv.store.sessions import Sessions
from chatkv.store.tree import Tree


class Store(Sessions, Claims, Messages, Tree, History, Memory):
    """Sessions, their message trees, turns, events and memory in one SQLite file.

    Used from one thread at a time. Any number of processes may have the file open; each change is one
    transaction that waits up to 5 seconds for another process's. Every failure is a `StoreError` that names
    the file; asking for what does not exist is a `UsageError`.
    """

    @classmethod
    def open(cls, file: Path, *, read_only: bool = False, clock: Callable[[], float] = time.time) -> Self:
        """Open `file`; unless `read_only`, make it (mode 0600) and bring its tables up to date.

        Raises `StoreError` for a file that is missing (`read_only`), locked, not writable, not chatkv's,
        damaged, or written by a newer version.
        """
        return cls(file, connect(file, read_only=read_only), clock)

    def search(
        self, query: str, *, session_id: str | None = None, limit: int = 20, offset: int = 0
    ) -> list[SearchHit]:
        """Messages with every word of `query` (of its last word, the beginning), best first (BM25).

        `query` is only words: quotes and operators in it mean nothing. Case and accents do not matter. In
        scripts that write no spaces, a word is found anywhere. An answer is found once it has ended.
        """
        with self._reading("search") as connection:
            return search.find(connection, query, session_id, limit, offset)
