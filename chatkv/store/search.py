"""Full-text search over messages: BM25, prefix on the last word, and scripts that write no spaces.

FTS5's unicode61 tokenizer takes a run of Chinese for one word. So the index is fed a shadow of each text in
which every character of such a script stands alone, and a word of them is looked for as a phrase.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from chatkv.store.records import SearchHit
from chatkv.store.values import decode_row, encode

if TYPE_CHECKING:
    import sqlite3

_MAX_WORDS = 64  # of a query; a longer one is a paste, and FTS5's parser has limits
_MAX_WORD_CHARS = 64
_SNIPPET_TOKENS = 40
_SNIPPET_CHARS = 200
_OPEN, _CLOSE = "\x01", "\x02"  # cannot occur in a shadow

# Thai to Tibetan, Myanmar, Khmer, Hangul, kana, bopomofo, Yi, and the ideographs of all planes.
_SPACELESS = (
    "\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_SPACELESS_CHAR = re.compile(f"[{_SPACELESS}]")
_SPACED_CHAR = re.compile(f" ?({_OPEN}?)([{_SPACELESS}])({_CLOSE}?) ?")
_UNSEARCHABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_FIND = f"""
    SELECT sessions.id AS session_id, sessions.title AS session_title, messages.id AS message_id,
        messages.role, messages.created_at,
        snippet(message_search, 0, '{_OPEN}', '{_CLOSE}', '', {_SNIPPET_TOKENS}) AS snippet
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
    match = match_expression(query)
    if not match:
        return []
    values = {"match": match, "session_id": encode(session_id), "limit": limit, "offset": offset}
    return [_hit(row) for row in connection.execute(_FIND, values)]


def index(connection: sqlite3.Connection, message_id: int, text: str) -> None:
    """Make message `message_id` findable by `text`, instead of what it was found by before."""
    connection.execute("DELETE FROM message_search WHERE rowid = ?", (message_id,))
    connection.execute("INSERT INTO message_search (rowid, text) VALUES (?, ?)", (message_id, shadow(text)))


def forget(connection: sqlite3.Connection, session_id: str) -> None:
    """Drop a session's messages from the index. Merging it is what takes their words out of the file."""
    mine = "SELECT id FROM messages WHERE session_id = ?"
    connection.execute(f"DELETE FROM message_search WHERE rowid IN ({mine})", (session_id,))
    connection.execute("INSERT INTO message_search (message_search) VALUES ('optimize')")


def shadow(text: str) -> str:
    """`text` as the index sees it: composed (NFC), without controls, spaces around spaceless characters."""
    return _SPACELESS_CHAR.sub(r" \g<0> ", _UNSEARCHABLE.sub(" ", unicodedata.normalize("NFC", text)))


def match_expression(query: str) -> str:
    """An FTS5 expression that holds nothing of `query` but quoted words; the last one may go on."""
    words = [shadow(word[:_MAX_WORD_CHARS]).strip() for word in query.split()]
    phrases = [f'"{word.replace(chr(34), " ")}"' for word in words if any(map(str.isalnum, word))]
    return " ".join(phrases[:_MAX_WORDS]) + "*" if phrases else ""


def _hit(row: sqlite3.Row) -> SearchHit:
    values = decode_row(row)
    snippet, spans = _unmark(values.pop("snippet"))
    return SearchHit(snippet=snippet, spans=spans, **values)


def _unmark(marked: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A marked shadow as plain text near its first match, with the matches' places in it."""
    pieces = re.split(f"[{_OPEN}{_CLOSE}]", _SPACED_CHAR.sub(r"\1\2\3", marked))
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece))
    text = "".join(pieces)
    start = max(0, ends[1] - _SNIPPET_CHARS // 4)
    stop = min(len(text), start + _SNIPPET_CHARS)
    # Pieces alternate: outside, match, outside, ...
    matches = zip(ends[1:-1:2], ends[2::2], strict=False)
    spans = tuple((low - start, min(high, stop) - start) for low, high in matches if low < stop)
    return text[start:stop], spans
