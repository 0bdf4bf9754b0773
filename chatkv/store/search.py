"""Full-text search over messages: BM25, prefix on the last word, and scripts that write no spaces.

FTS5's unicode61 tokenizer takes a run of Chinese for one word. So the index is fed a shadow of each text in
which every character of such a script stands alone, and a word of them is looked for as a phrase.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from chatkv.store.records import SearchHit
from chatkv.store.snippet import SPACELESS, cut, plain
from chatkv.store.values import decode_row, encode

# What is longer is a paste; its beginning finds it.
_MAX_QUERY_CHARS = 200

_SPACELESS_CHAR = re.compile(f"[{SPACELESS}]")

_FIND = """
    SELECT sessions.id AS session_id, sessions.title AS session_title, messages.id AS message_id,
        messages.role, messages.text, messages.created_at
    FROM message_search
    JOIN messages ON messages.id = message_search.rowid
    JOIN sessions ON sessions.id = messages.session_id
    WHERE message_search MATCH :match AND (:session_id IS NULL OR messages.session_id = :session_id)
    ORDER BY message_search.rank, messages.id DESC LIMIT :limit OFFSET :offset
"""


def find(
    connection: sqlite3.Connection, query: str, session_id: str | None, limit: int, offset: int
) -> list[SearchHit]:
    """Messages that hold every word of `query`, best first; none if it has no letter or digit."""
    words = words_of(query)
    if not words:
        return []
    values = {"match": _expression(words), "session_id": encode(session_id), "limit": limit, "offset": offset}
    return [_hit(row, words) for row in connection.execute(_FIND, values)]


def index(connection: sqlite3.Connection, message_id: int, text: str) -> None:
    """Make message `message_id` findable by `text`, instead of what it was found by before."""
    connection.execute("DELETE FROM message_search WHERE rowid = ?", (message_id,))
    connection.execute("INSERT INTO message_search (rowid, text) VALUES (?, ?)", (message_id, _shadow(text)))


def forget(connection: sqlite3.Connection, session_id: str) -> None:
    """Drop a session's messages from the index. Merging it is what takes their words out of the file."""
    mine = "SELECT id FROM messages WHERE session_id = ?"
    connection.execute(f"DELETE FROM message_search WHERE rowid IN ({mine})", (session_id,))
    connection.execute("INSERT INTO message_search (message_search) VALUES ('optimize')")


def words_of(query: str) -> list[str]:
    """The different words of `query` that hold a letter or digit, the last one last."""
    words = [word for word in plain(query[:_MAX_QUERY_CHARS]).split() if any(map(str.isalnum, word))]
    if not words:
        return []
    *whole, last = words
    return [*{word.casefold(): word for word in whole}.values(), last]


def _expression(words: Sequence[str]) -> str:
    """An FTS5 expression of nothing but quoted phrases, all of which must occur; the last one may go on."""
    phrases = [f'"{_shadow(word).replace(chr(34), " ")}"' for word in words]
    return f"{' '.join(phrases)} *"


def _shadow(text: str) -> str:
    return _SPACELESS_CHAR.sub(r" \g<0> ", plain(text))


def _hit(row: sqlite3.Row, words: Sequence[str]) -> SearchHit:
    values = decode_row(row)
    snippet, spans = cut(values.pop("text"), words)
    return SearchHit(snippet=snippet, spans=spans, **values)
