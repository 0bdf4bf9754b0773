"""Search over messages and titles: words, beginnings of words, pieces of words, in any script.

The index gives the messages that may match, newest first; their texts decide. Among the newest few hundred that match,
the best come first, then the next few hundred: a word that half of all messages have is ranked no slower.
"""

from __future__ import annotations

import heapq
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from chatkv.store.fold import fold, plain
from chatkv.store.grams import Needle, anywhere, beginning, tokens_of, whole
from chatkv.store.indexing import forget, index, unindex
from chatkv.store.postings import BITS, common
from chatkv.store.records import SearchHit
from chatkv.store.snippet import cut
from chatkv.store.values import decode, decode_row, encode

__all__ = ["find", "forget", "index", "unindex", "words_of"]

RANKED = 200
"""Matches that are compared with each other."""
SCANNED = 1000
"""Messages not indexed yet that a search reads, the newest ones."""

# What is longer is a paste; its beginning finds it.
_MAX_QUERY_CHARS = 200
_CHUNK = 100
_TITLES_FIRST = 5

_TEXTS = "SELECT id, session_id, text FROM messages WHERE id IN ({})"
_MESSAGE = """
    SELECT sessions.id AS session_id, sessions.title AS session_title, messages.id AS message_id,
        messages.role, messages.text, messages.created_at
    FROM messages JOIN sessions ON sessions.id = messages.session_id WHERE messages.id = ?"""
_TITLES = "SELECT id, title FROM sessions ORDER BY updated_at DESC, id DESC"
_TITLE = """
    SELECT id AS session_id, title AS session_title, 0 AS message_id, 'title' AS role, title AS text,
        updated_at AS created_at
    FROM sessions WHERE id = ?"""
_WAITING = """
    SELECT messages.id FROM search_queue JOIN messages ON messages.id BETWEEN low AND high
    WHERE status != 'streaming' ORDER BY low DESC, messages.id DESC LIMIT ?"""
_MEMBERS = "SELECT id FROM messages WHERE session_id = ? AND status != 'streaming' ORDER BY id DESC"
_SPANS = "SELECT low, high FROM search_queue ORDER BY low"
_SHARDS = "SELECT shard FROM search_shards ORDER BY shard DESC"


@dataclass(frozen=True, slots=True)
class _Match:
    """A message that matches; one with the number 0 is the session's title."""

    message_id: int
    session_id: str
    folded: str


def find(
    connection: sqlite3.Connection, query: str, session_id: str | None, limit: int, offset: int
) -> list[SearchHit]:
    """Messages and titles that hold every word of `query`, best first; none if it has nothing to look for."""
    words = words_of(query)
    if not words or limit <= 0:
        return []
    # One snapshot: a message must not go from the queue to the index between two looks.
    connection.execute("BEGIN")
    try:
        matches = islice(_Search(connection, session_id).ranked(words), offset, offset + limit)
        return [_hit(connection, match, words) for match in matches]
    finally:
        if connection.in_transaction:  # a failing disk ends it by itself
            connection.execute("ROLLBACK")


def words_of(query: str) -> list[str]:
    """The different words of `query` that can be looked for, the last one last."""
    words = [word for word in plain(query[:_MAX_QUERY_CHARS]).split() if tokens_of(word)]
    if not words:
        return []
    *earlier, last = words
    return [*{word.casefold(): word for word in earlier}.values(), last]


def _tiers(words: Sequence[str]) -> list[list[Needle]]:
    """Ever looser forms of the query: whole words; the last one goes on; pieces of words."""
    *earlier, last = words
    before = [whole(word) for word in earlier]
    return [[*before, whole(last)], [*before, beginning(last)], [anywhere(word) for word in words]]


class _Search:
    """One search: everywhere, or among the messages of a session."""

    def __init__(self, connection: sqlite3.Connection, session_id: str | None) -> None:
        self._connection = connection
        self._everywhere = session_id is None
        self._allowed: frozenset[int] = frozenset()
        if session_id is None:
            self._waiting = [row["id"] for row in connection.execute(_WAITING, (SCANNED,))]
        else:
            members = [row["id"] for row in connection.execute(_MEMBERS, (encode(session_id),))]
            self._allowed = frozenset(members)
            self._waiting = _inside(connection.execute(_SPANS).fetchall(), members)[:SCANNED]
        self._kept = frozenset(self._waiting)
        self._read: dict[int, _Match] = {}
        self._seen: set[int] = set()

    def ranked(self, words: Sequence[str]) -> Iterator[_Match]:
        """All matches, in order; found as they are asked for."""
        tiers = _tiers(words)
        titles = self._titles(tiers[-1]) if self._everywhere else []
        seen: set[str] = set()
        for needles in tiers:
            named = [title for title in titles if _holds(needles, title.folded)]
            preferred = {title.session_id for title in named}
            matches = self._matching(needles)
            block = _sorted(islice(matches, RANKED), needles, preferred)
            # A title is mostly the first message's beginning: it stands for itself where no message does.
            seen.update(match.session_id for match in block)
            named = [title for title in named if title.session_id not in seen]
            seen |= preferred
            yield from named[:_TITLES_FIRST]
            yield from block
            yield from named[_TITLES_FIRST:]
            while block := _sorted(islice(matches, RANKED), needles, preferred):
                yield from block

    def _titles(self, needles: Sequence[Needle]) -> list[_Match]:
        """The titles that match, of the most recently used sessions first."""
        cursor = self._connection.cursor()
        cursor.row_factory = None
        rows = cursor.execute(_TITLES).fetchall()
        found = ((session_id, _folded(title)) for session_id, title in rows if title)
        return [_Match(0, session_id, folded) for session_id, folded in found if _holds(needles, folded)]

    def _matching(self, needles: Sequence[Needle]) -> Iterator[_Match]:
        """Messages that match and did not match a stricter form, newest first."""
        pieces = set[str]().union(*(needle.pieces for needle in needles))
        indexed = self._indexed(sorted(pieces))
        candidates = (
            found for found in heapq.merge(self._waiting, indexed, reverse=True) if found not in self._seen
        )
        while ids := list(islice(candidates, _CHUNK)):
            for match in self._texts(ids):
                if _holds(needles, match.folded):
                    self._seen.add(match.message_id)
                    yield match

    def _indexed(self, pieces: Sequence[str]) -> Iterator[int]:
        """Ids of the messages that have all of `pieces`, newest first."""
        shards = [row["shard"] for row in self._connection.execute(_SHARDS)]
        if not self._everywhere:
            mine = {message_id >> BITS for message_id in self._allowed}
            shards = [shard for shard in shards if shard in mine]
        keys = [encode(piece) for piece in pieces]
        sql = f"SELECT docs FROM search_pieces WHERE shard = ? AND piece IN ({_marks(keys)})"
        for shard in shards:
            docs = [row["docs"] for row in self._connection.execute(sql, (shard, *keys))]
            if len(docs) == len(keys):
                ids = ((shard << BITS) + number for number in reversed(common(docs)))
                yield from (found for found in ids if self._everywhere or found in self._allowed)

    def _texts(self, ids: Sequence[int]) -> list[_Match]:
        """The messages, folded. Those that wait are kept: each form of the query looks at them."""
        new = [message_id for message_id in ids if message_id not in self._read]
        cursor = self._connection.cursor()
        cursor.row_factory = None
        rows = cursor.execute(_TEXTS.format(_marks(new)), new).fetchall()
        texts = {row[0]: _Match(row[0], row[1], _folded_text(row[2])) for row in rows}
        self._read |= {message_id: match for message_id, match in texts.items() if message_id in self._kept}
        found = (texts.get(message_id) or self._read.get(message_id) for message_id in ids)
        return [match for match in found if match is not None]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _inside(spans: Sequence[sqlite3.Row], ids: Sequence[int]) -> list[int]:
    """Those of `ids` that lie in one of `spans`, which ascend."""
    lows = [span["low"] for span in spans]
    places = [(message_id, bisect_right(lows, message_id) - 1) for message_id in ids]
    return [message_id for message_id, place in places if place >= 0 and message_id <= spans[place]["high"]]


def _folded_text(stored: str | bytes) -> str:
    return fold(stored if isinstance(stored, str) else decode(stored))


_folded = lru_cache(maxsize=20_000)(_folded_text)  # titles: nearly all are the same at the next search


def _holds(needles: Sequence[Needle], folded: str) -> bool:
    return all(needle.pattern.search(folded) for needle in needles)


def _sorted(found: Iterable[_Match], needles: Sequence[Needle], preferred: Set[str]) -> list[_Match]:
    """Best first. A word counts less each time it comes again, and less in a longer text, as in BM25."""
    matches = list(found)
    mean = sum(len(match.folded) for match in matches) / len(matches) if matches else 1.0
    scores = {}
    for match in matches:
        length = 1.2 * (0.25 + 0.75 * len(match.folded) / max(mean, 1.0))
        counts = [len(needle.pattern.findall(match.folded)) for needle in needles]
        score = sum(count / (count + length) for count in counts)
        scores[match.message_id] = score * (1.25 if match.session_id in preferred else 1.0)
    return sorted(matches, key=lambda match: (-scores[match.message_id], -match.message_id))


def _hit(connection: sqlite3.Connection, match: _Match, words: Sequence[str]) -> SearchHit:
    if match.message_id:
        row = connection.execute(_MESSAGE, (match.message_id,)).fetchone()
    else:
        row = connection.execute(_TITLE, (encode(match.session_id),)).fetchone()
    values = decode_row(row)
    snippet, spans = cut(values.pop("text"), words)
    return SearchHit(snippet=snippet, spans=spans, **values)
