"""The store: one open database with everything chatkv remembers, put together from its parts."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from chatkv.store import indexing, search
from chatkv.store.claims import Claims
from chatkv.store.database import connect, immediate
from chatkv.store.drafts import Drafts
from chatkv.store.history import History
from chatkv.store.memory import Memory
from chatkv.store.messages import Messages
from chatkv.store.records import SearchHit
from chatkv.store.sessions import Sessions
from chatkv.store.tree import Tree
from chatkv.store.whole import Wholes

_MANY = range(900, 10_000)
_FEW = 100


class Store(Sessions, Claims, Messages, Tree, History, Drafts, Memory, Wholes):
    """Sessions, their message trees, turns, events and memory in one SQLite file.

    Used from one thread at a time. Any number of processes may have the file open; each change is one
    transaction that waits up to 5 seconds for another process's. Every failure is a `StoreError` that names
    the file; asking for what does not exist is a `UsageError`.
    """

    @classmethod
    def open(
        cls,
        file: Path,
        *,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
        tell: Callable[[str], None] = lambda _: None,
    ) -> Self:
        """Open `file`; unless `read_only`, make it (mode 0600) and bring its tables up to date.

        A file of an older version is copied first, to `chatkv.db.v2.bak` or the like beside it; `tell` is called with
        a sentence about it, for that can take a while. Raises `StoreError` for a file that is missing (`read_only`),
        locked, not writable, not chatkv's, damaged, or written by a newer version, and where there is no room for
        the copy.
        """
        return cls(file, connect(file, read_only=read_only, tell=tell), clock)

    def search(
        self, query: str, *, session_id: str | None = None, limit: int = 20, offset: int = 0
    ) -> list[SearchHit]:
        """Messages and titles that have every word of `query`: as words first, then as pieces of words.

        `query` is only words: quotes and operators in it mean nothing. Case and accents do not matter; one or two
        letters are found at beginnings of words only, in scripts without spaces, and symbols, anywhere. Best means
        best among the newest 200 matches, then among the next 200. An answer is found once it has ended. Of messages
        that wait to be indexed (`n_unindexed`) only the newest 1,000 are looked at. Titles are not searched within
        one session.
        """
        with self._reading("search") as connection:
            _catch_up_unless_busy(connection)
            return search.find(connection, query, session_id, limit, offset)

    def index_some(self, limit: int = 500) -> int:
        """Index the newest `limit` of the messages that wait for it, half a millisecond each; how many still wait.

        To be called while idle, and until it returns 0 after an upgrade. Raises `StoreError`.
        """
        with self._writing("index messages") as connection:
            indexing.catch_up(connection, limit)
            return indexing.waiting(connection)

    def n_waiting(self) -> int:
        """Messages that wait to be indexed, at most."""
        with self._reading("count messages that wait to be indexed") as connection:
            return indexing.waiting(connection)

    def n_unindexed(self) -> int:
        """Messages that a search does not look at, at most: too many wait to be indexed, and these are the oldest."""
        return max(0, self.n_waiting() - search.SCANNED)


def _catch_up_unless_busy(connection: sqlite3.Connection) -> None:
    """Index a few of the waiting messages before they are more than a search reads: a last resort.

    After an upgrade they are so many that a few would not help.
    """
    if indexing.waiting(connection) not in _MANY:
        return
    # A search needs no lock: it never waits for one, nor fails for want of room or of a right to write.
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        with suppress(sqlite3.OperationalError), immediate(connection):
            indexing.catch_up(connection, _FEW)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(patience)}")
