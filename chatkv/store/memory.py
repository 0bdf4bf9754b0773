"""What is remembered of turns that left the context, and what may not leave it: summaries, pins, documents.

Knows nothing of how a summary is made or when. Summaries are only added and undone, never changed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from chatkv.errors import UsageError
from chatkv.store.database import DatabaseFile, insert
from chatkv.store.records import DocumentRecord, PassageRecord, SummaryRecord
from chatkv.store.sessions import require_session
from chatkv.store.values import decode_row, encode

_SUMMARY = "SELECT id, session_id, upto_id, kept, text, origin, edited, created_at FROM summaries"
_DOCUMENTS = """
    SELECT documents.id, documents.session_id, documents.name, length(documents.text) AS n_chars,
        (SELECT count(*) FROM passages WHERE document_id = documents.id) AS n_passages, documents.created_at
    FROM documents WHERE documents.session_id = ? ORDER BY documents.id"""
_PASSAGES = """
    SELECT passages.id, passages.document_id, documents.name, passages.text
    FROM passages JOIN documents ON documents.id = passages.document_id
    WHERE passages.session_id = ? ORDER BY passages.id"""


class Memory(DatabaseFile):
    """The part of the store that concerns what stands in for, beside and outside the context."""

    def add_summary(
        self,
        session_id: str,
        upto_id: int,
        text: str,
        *,
        origin: str,
        edited: str = "",
        kept: Sequence[int] = (),
    ) -> SummaryRecord:
        """A summary of the branch up to `upto_id`. Raises `UsageError` if that is no message of the session."""
        now = self.clock()
        values = {"session_id": session_id, "upto_id": upto_id, "kept": json.dumps(list(kept)), "text": text}
        with self._writing("save a summary") as connection:
            require_session(connection, session_id)
            _require_message(connection, session_id, upto_id)
            rest = {"origin": origin, "edited": edited, "created_at": now}
            row_id = insert(connection, "summaries", {**values, **rest})
        return SummaryRecord(row_id, session_id, upto_id, tuple(kept), text, origin, edited, now)

    def summaries(self, session_id: str) -> list[SummaryRecord]:
        """The session's summaries that were not undone, on all branches, newest last."""
        with self._reading("read summaries") as connection:
            rows = connection.execute(
                f"{_SUMMARY} WHERE session_id = ? AND NOT undone ORDER BY id", (encode(session_id),)
            )
            return [_summary(row) for row in rows]

    def undo_summary(self, summary_id: int) -> None:
        """Let the summary before this one stand again."""
        with self._writing("undo a summary") as connection:
            connection.execute("UPDATE summaries SET undone = 1 WHERE id = ?", (summary_id,))

    def pin(self, session_id: str, message_id: int) -> None:
        """Keep the turn of user message `message_id` verbatim. Raises `UsageError` if it is not in the session."""
        with self._writing("pin a turn") as connection:
            require_session(connection, session_id)
            _require_message(connection, session_id, message_id)
            connection.execute(
                "INSERT OR IGNORE INTO pins (session_id, message_id, created_at) VALUES (?, ?, ?)",
                (encode(session_id), message_id, self.clock()),
            )

    def unpin(self, session_id: str, message_id: int) -> None:
        """Let the turn go with the others again."""
        with self._writing("unpin a turn") as connection:
            connection.execute(
                "DELETE FROM pins WHERE session_id = ? AND message_id = ?", (encode(session_id), message_id)
            )

    def pins(self, session_id: str) -> frozenset[int]:
        """User messages whose turns are pinned, on all branches."""
        with self._reading("read pins") as connection:
            rows = connection.execute(
                "SELECT message_id FROM pins WHERE session_id = ?", (encode(session_id),)
            )
            return frozenset(row["message_id"] for row in rows)

    def add_document(self, session_id: str, name: str, text: str, passages: Sequence[str]) -> DocumentRecord:
        """Keep a document and the passages it can be recalled in."""
        now = self.clock()
        with self._writing("keep a document") as connection:
            require_session(connection, session_id)
            values = {"session_id": session_id, "name": name, "text": text, "created_at": now}
            document_id = insert(connection, "documents", values)
            for passage in passages:
                row = {"document_id": document_id, "session_id": session_id, "text": passage}
                insert(connection, "passages", row)
        return DocumentRecord(document_id, session_id, name, len(text), len(passages), now)

    def documents(self, session_id: str) -> list[DocumentRecord]:
        """The session's documents, oldest first."""
        with self._reading("read documents") as connection:
            rows = connection.execute(_DOCUMENTS, (encode(session_id),))
            return [DocumentRecord(**decode_row(row)) for row in rows]

    def passages(self, session_id: str) -> list[PassageRecord]:
        """The passages of all documents of a session, in order."""
        with self._reading("read passages") as connection:
            rows = connection.execute(_PASSAGES, (encode(session_id),))
            return [PassageRecord(**decode_row(row)) for row in rows]

    def set_recalled(self, message_id: int, text: str) -> None:
        """Note what stands in front of user message `message_id` in the prompt."""
        with self._writing("save what was recalled") as connection:
            connection.execute("UPDATE messages SET recalled = ? WHERE id = ?", (encode(text), message_id))


def _summary(row: sqlite3.Row) -> SummaryRecord:
    values = decode_row(row)
    return SummaryRecord(**{**values, "kept": tuple(json.loads(values["kept"]))})


def _require_message(connection: sqlite3.Connection, session_id: str, message_id: int) -> None:
    found = "SELECT 1 FROM messages WHERE id = ? AND session_id = ?"
    if connection.execute(found, (message_id, encode(session_id))).fetchone() is None:
        raise UsageError(f"There is no message {message_id} in session {session_id}.")
