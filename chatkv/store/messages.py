"""Writing messages. An edit or a second answer is a sibling in the tree, never a change of what was said.

Knows nothing of models: token ids are only kept.
"""

from __future__ import annotations

import dataclasses
import os
import sqlite3
from collections.abc import Sequence
from typing import Any

from chatkv.errors import UsageError
from chatkv.store import search
from chatkv.store.claims import living_holder
from chatkv.store.database import DatabaseFile, insert
from chatkv.store.owners import pid_of
from chatkv.store.records import MessageRecord, Role, Status
from chatkv.store.sessions import require_session
from chatkv.store.values import decode_row, encode

_TOUCH = "UPDATE sessions SET updated_at = ? WHERE id = (SELECT session_id FROM messages WHERE id = ?)"


class Messages(DatabaseFile):
    """The part of the store that writes messages."""

    def add_message(
        self,
        session_id: str,
        parent_id: int | None,
        role: Role,
        text: str,
        *,
        turn: int,
        ids: Sequence[int] = (),
        answer_start: int = 0,
        thought: str = "",
        status: Status = "complete",
        model: str = "",
    ) -> MessageRecord:
        """Add a message under `parent_id` (None: a new beginning); it becomes the session's leaf.

        Raises `UsageError` if the session, or the parent in it, does not exist.
        """
        draft = MessageRecord(
            id=0,
            session_id=session_id,
            parent_id=parent_id,
            role=role,
            text=text,
            thought=thought,
            ids=tuple(ids),
            answer_start=answer_start,
            status=status,
            turn=turn,
            model=model,
            created_at=self.clock(),
        )
        with self._writing("save a message") as connection:
            return _append(connection, draft)

    def add_exchange(
        self, session_id: str, parent_id: int | None, user_text: str, turn: int, model: str
    ) -> tuple[MessageRecord, MessageRecord]:
        """Commit the user's message and an empty `streaming` answer, the new leaf: both or neither.

        On return they survive a power cut. Raises `UsageError` if the session, or the parent in it, does not
        exist.
        """
        now = self.clock()
        asked = MessageRecord(
            0, session_id, parent_id, "user", user_text, "", (), 0, "complete", turn, model, now
        )
        with self._writing("save a message") as connection:
            user = _append(connection, asked)
            empty = dataclasses.replace(
                user, parent_id=user.id, role="assistant", text="", status="streaming"
            )
            return user, _append(connection, empty)

    def update_answer(
        self,
        message_id: int,
        *,
        text: str,
        thought: str,
        ids: Sequence[int],
        answer_start: int,
        status: Status,
    ) -> None:
        """Save an answer as far as it has come. It becomes searchable with any status but `streaming`.

        Raises `UsageError` if there is no such answer (any more).
        """
        values = (text, thought, tuple(ids), answer_start, status)
        with self._writing("save an answer") as connection:
            search.unindex(connection, message_id)
            changed = connection.execute(
                """UPDATE messages SET text = ?, thought = ?, ids = ?, answer_start = ?, status = ?
                WHERE id = ? AND role = 'assistant'""",
                (*map(encode, values), message_id),
            )
            if changed.rowcount == 0:
                raise UsageError(
                    f"There is no answer {message_id} any more.", "Its session may have been deleted."
                )
            if status != "streaming":
                search.index(connection, message_id, text)
                connection.execute(_TOUCH, (self.clock(), message_id))

    def set_leaf(self, session_id: str, message_id: int | None) -> None:
        """Make `message_id` the end of the conversation. Raises `UsageError` if it is not in the session."""
        with self._writing("switch the branch") as connection:
            require_session(connection, session_id)
            _require_member(connection, session_id, message_id)
            connection.execute("UPDATE sessions SET leaf_id = ? WHERE id = ?", (message_id, session_id))

    def recover(self, session_id: str) -> int:
        """Mark answers that a dead writer left `streaming` as `partial`; returns how many.

        While another process that claimed the session lives, nothing is marked: its answer is still coming.
        """
        with self._writing("recover a session") as connection:
            require_session(connection, session_id)
            holder = living_holder(connection, session_id)
            if holder is not None and pid_of(holder) != os.getpid():
                return 0
            rows = connection.execute(
                "SELECT id, text FROM messages WHERE session_id = ? AND status = 'streaming'", (session_id,)
            ).fetchall()
            for left in map(decode_row, rows):
                connection.execute("UPDATE messages SET status = 'partial' WHERE id = ?", (left["id"],))
                search.index(connection, left["id"], left["text"])
        return len(rows)


def _append(connection: sqlite3.Connection, draft: MessageRecord) -> MessageRecord:
    """Insert `draft` (its id is chosen here), make it the leaf and, unless it is still coming, searchable."""
    assert 0 <= draft.answer_start <= len(draft.ids)
    require_session(connection, draft.session_id)
    _require_member(connection, draft.session_id, draft.parent_id)
    values: dict[str, Any] = {item.name: getattr(draft, item.name) for item in dataclasses.fields(draft)}
    del values["id"]
    message = dataclasses.replace(draft, id=insert(connection, "messages", values))
    connection.execute(
        "UPDATE sessions SET leaf_id = ?, updated_at = ? WHERE id = ?",
        (message.id, message.created_at, message.session_id),
    )
    if message.status != "streaming":
        search.index(connection, message.id, message.text)
    return message


def _require_member(connection: sqlite3.Connection, session_id: str, message_id: int | None) -> None:
    found = "SELECT 1 FROM messages WHERE id = ? AND session_id = ?"
    if message_id is not None and connection.execute(found, (message_id, session_id)).fetchone() is None:
        raise UsageError(f"There is no message {message_id} in session {session_id}.")
