"""Who may write to a session: one living process at a time. Knows nothing of what is written."""

from __future__ import annotations

import sqlite3

from chatkv.errors import StoreError
from chatkv.store import owners
from chatkv.store.database import DatabaseFile
from chatkv.store.sessions import require_session


class Claims(DatabaseFile):
    """The part of the store that keeps two processes from writing to one session."""

    def try_claim(self, session_id: str, owner: str) -> int:
        """Make `owner` (see `this_process`) the session's only writer; a dead owner's claim is taken over.

        Gives 0, or the process id of another owner while that lives. Raises `UsageError` if there is no session.
        """
        owners.pid_of(owner)
        with self._writing("claim a session") as connection:
            require_session(connection, session_id)
            holder = living_holder(connection, session_id)
            if holder is not None and holder != owner:
                return owners.pid_of(holder)
            connection.execute(
                "INSERT OR REPLACE INTO claims (session_id, owner, claimed_at) VALUES (?, ?, ?)",
                (session_id, owner, self.clock()),
            )
        return 0

    def claim(self, session_id: str, owner: str) -> None:
        """As `try_claim`. Raises `StoreError` that names the other process while that lives."""
        other = self.try_claim(session_id, owner)
        if other:
            raise held_by(session_id, other)

    def release(self, session_id: str, owner: str) -> None:
        """Give up `owner`'s claim. Does nothing if it holds none, or the session is gone."""
        with self._writing("release a session") as connection:
            connection.execute("DELETE FROM claims WHERE session_id = ? AND owner = ?", (session_id, owner))

    def holder(self, session_id: str) -> str | None:
        """The living owner that claimed the session, if any."""
        with self._reading("see who holds a session") as connection:
            return living_holder(connection, session_id)


def living_holder(connection: sqlite3.Connection, session_id: str) -> str | None:
    """The owner that claimed the session, unless it is dead."""
    row = connection.execute("SELECT owner FROM claims WHERE session_id = ?", (session_id,)).fetchone()
    return row["owner"] if row is not None and owners.is_alive(row["owner"]) else None


def held_by(session_id: str, pid: int) -> StoreError:
    """The error for a change of a session that process `pid` writes."""
    return StoreError(
        f"Session {session_id} is open in another process (pid {pid}).",
        "Close it there first, or open another session here.",
    )
