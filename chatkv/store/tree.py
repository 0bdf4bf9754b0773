"""Reading the message tree: the branch in use, its alternatives, and where they lead. Changes nothing."""

from __future__ import annotations

from chatkv.errors import UsageError
from chatkv.store.database import DatabaseFile
from chatkv.store.records import MessageRecord
from chatkv.store.values import decode_row, encode

_PATH = """
    WITH RECURSIVE up (id, parent_id) AS (
        SELECT id, parent_id FROM messages WHERE id = ?
        UNION ALL
        SELECT messages.id, messages.parent_id FROM up JOIN messages ON messages.id = up.parent_id
    )
    SELECT messages.* FROM up JOIN messages USING (id) ORDER BY id"""

# The newest message below a message is a leaf, for a child's id is always greater than its parent's.
_NEWEST_BELOW = """
    WITH RECURSIVE down (id, session_id) AS (
        SELECT id, session_id FROM messages WHERE id = ?
        UNION ALL
        SELECT messages.id, messages.session_id FROM down
        JOIN messages ON messages.session_id = down.session_id AND messages.parent_id = down.id
    )
    SELECT * FROM messages WHERE id = (SELECT max(id) FROM down)"""

_SIBLINGS = """
    SELECT messages.* FROM messages AS me
    JOIN messages ON messages.session_id = me.session_id AND messages.parent_id IS me.parent_id
    WHERE me.id = ? ORDER BY messages.id"""

_ALTERNATIVES = """
    SELECT coalesce(parent_id, 0) AS parent, id FROM messages
    WHERE session_id = :session AND coalesce(parent_id, 0) IN (
        SELECT coalesce(parent_id, 0) FROM messages WHERE session_id = :session GROUP BY 1 HAVING count(*) > 1)
    ORDER BY id"""

_CHILDREN = "SELECT * FROM messages WHERE session_id = ? AND parent_id IS ? ORDER BY id"


class Tree(DatabaseFile):
    """The part of the store that walks the message tree.

    Each method but `children` and `alternatives` raises `UsageError` for an id that is no message's.
    """

    def message(self, message_id: int) -> MessageRecord:
        """One message."""
        return self._existing("SELECT * FROM messages WHERE id = ?", message_id)[0]

    def path(self, leaf_id: int | None) -> list[MessageRecord]:
        """The branch that ends at `leaf_id`, from its beginning; empty for None."""
        return [] if leaf_id is None else self._existing(_PATH, leaf_id)

    def siblings(self, message_id: int) -> list[MessageRecord]:
        """The message and its alternatives (same session, same parent), in the order they were made."""
        return self._existing(_SIBLINGS, message_id)

    def children(self, parent_id: int | None, session_id: str) -> list[MessageRecord]:
        """What follows `parent_id` (None: the beginnings) in a session, in the order it was made."""
        return self._messages(_CHILDREN, encode(session_id), parent_id)

    def alternatives(self, session_id: str) -> dict[int, tuple[int, ...]]:
        """By parent (0: the beginning): the ids of its children, in the order made, where there is more than one."""
        groups: dict[int, tuple[int, ...]] = {}
        with self._reading("read messages") as connection:
            for row in connection.execute(_ALTERNATIVES, {"session": encode(session_id)}):
                groups[row["parent"]] = (*groups.get(row["parent"], ()), row["id"])
        return groups

    def newest_leaf(self, message_id: int) -> MessageRecord:
        """The leaf that was made last among those below `message_id`; the message itself if it is a leaf."""
        return self._existing(_NEWEST_BELOW, message_id)[0]

    def _existing(self, sql: str, message_id: int) -> list[MessageRecord]:
        found = self._messages(sql, message_id)
        if not found:
            raise UsageError(f"There is no message {message_id}.", "Its session may have been deleted.")
        return found

    def _messages(self, sql: str, *values: object) -> list[MessageRecord]:
        with self._reading("read messages") as connection:
            return [MessageRecord(**decode_row(row)) for row in connection.execute(sql, values)]
