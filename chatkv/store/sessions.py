"""Sessions in the database: make, find, list, rename, delete.

Knows nothing of what a message holds.
"""

from __future__ import annotations

import sqlite3

from chatkv.errors import UsageError
from chatkv.store import search
from chatkv.store.blocks import Blocks, release_blocks
from chatkv.store.database import insert
from chatkv.store.records import SessionRecord
from chatkv.store.values import ID_ALPHABET, decode_row, encode, new_session_id

_SELECT = """SELECT id, title, model, system, leaf_id, created_at, updated_at, carried_from, spec,
    (SELECT count(*) FROM messages WHERE messages.session_id = sessions.id) AS n_messages FROM sessions"""
_NEWEST_FIRST = "ORDER BY updated_at DESC, id DESC"
_MAX_CANDIDATES = 5
_BELONGINGS = ("turns", "events", "summaries", "pins", "passages", "documents", "messages")


class Sessions(Blocks):
    """The part of the store that concerns whole sessions."""

    def create_session(
        self,
        model: str,
        title: str = "",
        system: str | None = None,
        carried_from: str | None = None,
        *,
        spec: str = "",
    ) -> SessionRecord:
        """A new session without messages. `carried_from`: the session whose summary it begins with.

        `spec` is what the model is loaded by.
        """
        with self._writing("start a session") as connection:
            now = self.clock()
            session_id = new_session_id(now)
            while connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone():
                session_id = new_session_id(now)
            values = {"id": session_id, "title": title, "model": model, "system": system}
            values |= {"carried_from": carried_from, "spec": spec}
            insert(connection, "sessions", {**values, "created_at": now, "updated_at": now})
        return SessionRecord(session_id, title, model, system, None, now, now, 0, carried_from, spec)

    def session(self, session_id: str) -> SessionRecord:
        """The session with exactly this id. Raises `UsageError` if there is none."""
        with self._reading("read a session") as connection:
            row = connection.execute(f"{_SELECT} WHERE id = ?", (encode(session_id),)).fetchone()
        if row is None:
            raise _no_such_session(session_id)
        return SessionRecord(**decode_row(row))

    def resolve(self, wanted: str) -> SessionRecord:
        """The session that `wanted` means: `last` (most recently used), an id, or an id's unique beginning.

        Raises `UsageError` if none fits, or several do (they are named).
        """
        prefix = wanted.strip().lower()
        if prefix == "last":
            return self._last()
        if not prefix or not set(prefix) <= set(ID_ALPHABET):
            raise _no_such_session(wanted)
        with self._reading("look for a session") as connection:
            rows = connection.execute(
                f"{_SELECT} WHERE id >= ? AND id < ? {_NEWEST_FIRST}", (prefix, prefix + "~")
            ).fetchall()
        if len(rows) > 1:
            raise _ambiguous(wanted, rows)
        if not rows:
            raise _no_such_session(wanted)
        return SessionRecord(**decode_row(rows[0]))

    def list_sessions(self, limit: int = 50, offset: int = 0) -> list[SessionRecord]:
        """Sessions, the most recently used first."""
        with self._reading("list the sessions") as connection:
            rows = connection.execute(f"{_SELECT} {_NEWEST_FIRST} LIMIT ? OFFSET ?", (limit, offset))
            return [SessionRecord(**decode_row(row)) for row in rows]

    def carried_into(self, session_id: str) -> list[SessionRecord]:
        """The sessions that began with a summary of this one, oldest first."""
        with self._reading("look for a session") as connection:
            rows = connection.execute(f"{_SELECT} WHERE carried_from = ? ORDER BY id", (encode(session_id),))
            return [SessionRecord(**decode_row(row)) for row in rows]

    def rename(self, session_id: str, title: str) -> None:
        """Give a session another title. Its place in the list stays. Raises `UsageError` if there is none."""
        with self._writing("rename a session") as connection:
            require_session(connection, session_id)
            connection.execute("UPDATE sessions SET title = ? WHERE id = ?", (encode(title), session_id))

    def set_model(self, session_id: str, model: str, spec: str) -> None:
        """Another model goes on with a session. Raises `UsageError` if there is none."""
        with self._writing("note the model of a session") as connection:
            require_session(connection, session_id)
            connection.execute(
                "UPDATE sessions SET model = ?, spec = ? WHERE id = ?",
                (encode(model), encode(spec), encode(session_id)),
            )

    def delete(self, session_id: str) -> None:
        """Delete a session with all of its messages, turns and events, its KV on disk, and from the search index.

        The words are overwritten in the file too. Raises `UsageError` if there is no such session.
        """
        with self._writing("delete a session") as connection:
            require_session(connection, session_id)
            clear_session(connection, session_id)
            blocks = release_blocks(connection, session_id)
            for table in ("claims", "drafts"):
                connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
            connection.execute(
                "UPDATE sessions SET carried_from = NULL WHERE carried_from = ?", (session_id,)
            )
            connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
        self._unlink(blocks)
        with self._reading("empty the log of the database") as connection:
            # The log still holds the deleted pages. Busy readers only put this off to a later checkpoint.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _last(self) -> SessionRecord:
        newest = self.list_sessions(limit=1)
        if not newest:
            raise UsageError("There are no sessions yet.", "Start one by saying something.")
        return newest[0]


def clear_session(connection: sqlite3.Connection, session_id: str) -> None:
    """Delete everything that belongs to a session but its own row and who has it open."""
    search.forget(connection, session_id)
    connection.execute("UPDATE sessions SET leaf_id = NULL WHERE id = ?", (encode(session_id),))
    for table in _BELONGINGS:
        connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (encode(session_id),))


def require_session(connection: sqlite3.Connection, session_id: str) -> None:
    """Raise `UsageError` unless the session exists (it may have been deleted by another process)."""
    if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (encode(session_id),)).fetchone() is None:
        raise _no_such_session(session_id)


def _no_such_session(wanted: str) -> UsageError:
    return UsageError(f"There is no session {wanted[:40]!r}.", "`chatkv sessions` lists them.")


def _ambiguous(wanted: str, rows: list[sqlite3.Row]) -> UsageError:
    records = [SessionRecord(**decode_row(row)) for row in rows]
    names = [f"{record.id} {record.title[:40]!r}" for record in records[:_MAX_CANDIDATES]]
    more = [f"{len(records) - _MAX_CANDIDATES} more"] if len(records) > _MAX_CANDIDATES else []
    return UsageError(
        f"{wanted!r} fits {len(records)} sessions: {', '.join(names + more)}.", "Type more of the id."
    )
