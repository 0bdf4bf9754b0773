"""What is written and not sent, and what was sent before: for the place where one writes.

Knows nothing of who writes when. The last writer of a session's draft wins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from chatkv.store.database import DatabaseFile, insert
from chatkv.store.records import AskedRecord, DraftRecord
from chatkv.store.values import decode_row, encode

_MAX_DRAFTS = 200
_MAX_CHARS = 16 << 20
_MAX_ASKED_CHARS = 1 << 20


class Drafts(DatabaseFile):
    """The part of the store that keeps drafts. A session of None: one that is not stored yet."""

    def draft(self, session_id: str | None) -> DraftRecord | None:
        """What is written in this session; None if nothing is."""
        with self._reading("read a draft") as connection:
            row = connection.execute(
                "SELECT text, labels, updated_at FROM drafts WHERE session_id IS ?", (encode(session_id),)
            ).fetchone()
        if row is None:
            return None
        values = decode_row(row)
        labels = tuple(
            (int(start), int(length), str(label)) for start, length, label in json.loads(values["labels"])
        )
        return DraftRecord(values["text"], labels, values["updated_at"])

    def set_draft(
        self, session_id: str | None, text: str, labels: Iterable[tuple[int, int, str]] = ()
    ) -> bool:
        """Keep what is written in this session, an empty text as nothing; False where that is not kept.

        That is a text of more than 16 million characters, or one of a session that is gone. Of more than 200 drafts
        the oldest go.
        """
        with self._writing("keep a draft") as connection:
            connection.execute("DELETE FROM drafts WHERE session_id IS ?", (encode(session_id),))
            if not text:
                return True
            here = connection.execute("SELECT 1 FROM sessions WHERE id = ?", (encode(session_id),)).fetchone()
            if len(text) > _MAX_CHARS or (session_id is not None and here is None):
                return False
            values = {"session_id": session_id, "text": text, "labels": json.dumps(list(labels))}
            insert(connection, "drafts", {**values, "updated_at": self.clock()})
            connection.execute(
                "DELETE FROM drafts WHERE rowid NOT IN (SELECT rowid FROM drafts ORDER BY updated_at DESC LIMIT ?)",
                (_MAX_DRAFTS,),
            )
            return True

    def asked(self, limit: int, before: int | None = None) -> list[AskedRecord]:
        """The newest messages that the person sent, in all sessions, newest first; those with an id below `before`.

        Messages of more than a million characters are left out.
        """
        with self._reading("read what was said") as connection:
            rows = connection.execute(
                """SELECT id AS message_id, session_id, text FROM messages
                WHERE role = 'user' AND id < ? AND length(text) <= ? ORDER BY id DESC LIMIT ?""",
                (1 << 62 if before is None else before, _MAX_ASKED_CHARS, limit),
            )
            return [AskedRecord(**decode_row(row)) for row in rows]
