"""The search index: what is in it, what waits to be put in, and how both are taken out again.

Knows nothing of queries. A saved message only joins the queue, so that saving stays fast; a search looks at the queue
itself. What is deleted is taken out piece by piece, and SQLite overwrites it.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from chatkv.store.fold import recipe
from chatkv.store.grams import pieces_of
from chatkv.store.postings import BITS, SIZE, packed, unpacked, without
from chatkv.store.values import decode_row, encode

_IS_WAITING = """SELECT 1 FROM search_queue
    WHERE low = (SELECT max(low) FROM search_queue WHERE low <= :id) AND high >= :id"""
_NEXT = "SELECT low, high FROM search_queue ORDER BY low DESC LIMIT 1"
_TEXTS = """SELECT id, text FROM messages
    WHERE id BETWEEN ? AND ? AND status != 'streaming' ORDER BY id DESC LIMIT ?"""
_MINE = "SELECT id, text, status FROM messages WHERE session_id = ? ORDER BY id"
_DOCS = "SELECT docs FROM search_pieces WHERE shard = ? AND piece = ?"


def index(connection: sqlite3.Connection, message_id: int, text: str) -> None:
    """Make a message findable by its text, as it now is in the table. `text` is what it will be found by."""
    if not text or connection.execute(_IS_WAITING, {"id": message_id}).fetchone():
        return
    # Ids are given out in order, so that the queue is mostly one row that grows.
    grown = connection.execute(
        "UPDATE search_queue SET high = :id WHERE high = :id - 1 AND low = (SELECT max(low) FROM search_queue)",
        {"id": message_id},
    )
    if grown.rowcount == 0:
        connection.execute("INSERT INTO search_queue (low, high) VALUES (?, ?)", (message_id, message_id))


def unindex(connection: sqlite3.Connection, message_id: int) -> None:
    """Take a message out of the index, before its text changes."""
    row = connection.execute("SELECT id, text, status FROM messages WHERE id = ?", (message_id,)).fetchone()
    if row is not None:
        _take_out(connection, [row])


def forget(connection: sqlite3.Connection, session_id: str) -> None:
    """Take all messages of a session out of the index, before they are deleted."""
    _take_out(connection, connection.execute(_MINE, (encode(session_id),)).fetchall())


def catch_up(connection: sqlite3.Connection, limit: int) -> int:
    """Index at most `limit` waiting messages, the newest first; how many it found."""
    _queue_those_by_other_rules(connection)
    pieces: dict[int, defaultdict[str, list[int]]] = {}
    left = limit
    while left and (span := connection.execute(_NEXT).fetchone()) is not None:
        rows = connection.execute(_TEXTS, (span["low"], span["high"], left)).fetchall()
        for row in map(decode_row, rows):
            shard = pieces.setdefault(row["id"] >> BITS, defaultdict(list))
            for piece in pieces_of(row["text"]):
                shard[piece].append(row["id"] & SIZE - 1)
        if len(rows) < left or rows[-1]["id"] <= span["low"]:
            connection.execute("DELETE FROM search_queue WHERE low = ?", (span["low"],))
        else:
            connection.execute(
                "UPDATE search_queue SET high = ? WHERE low = ?", (rows[-1]["id"] - 1, span["low"])
            )
        left -= len(rows)
    for number, places in pieces.items():
        _add(connection, number, places)
    return limit - left


def waiting(connection: sqlite3.Connection) -> int:
    """How many messages wait to be indexed, at most."""
    return int(connection.execute("SELECT coalesce(sum(high - low + 1), 0) FROM search_queue").fetchone()[0])


def _add(connection: sqlite3.Connection, shard: int, pieces: dict[str, list[int]]) -> None:
    known = connection.execute("SELECT 1 FROM search_shards WHERE shard = ?", (shard,)).fetchone()
    if known is None:
        connection.execute("INSERT INTO search_shards (shard, recipe) VALUES (?, ?)", (shard, recipe()))
    rows = []
    for piece in sorted(pieces):
        found = connection.execute(_DOCS, (shard, encode(piece))).fetchone() if known else None
        places = pieces[piece][::-1]  # they were read from the newest to the oldest
        if found:
            places = sorted({*unpacked(found["docs"]), *places})
        rows.append((shard, encode(piece), packed(places)))
    connection.executemany("INSERT OR REPLACE INTO search_pieces (shard, piece, docs) VALUES (?, ?, ?)", rows)


def _take_out(connection: sqlite3.Connection, rows: Iterable[sqlite3.Row]) -> None:
    _queue_those_by_other_rules(connection)
    gone: dict[int, dict[str, set[int]]] = {}
    for row in map(decode_row, rows):
        if row["status"] == "streaming" or connection.execute(_IS_WAITING, {"id": row["id"]}).fetchone():
            continue
        shard = gone.setdefault(row["id"] >> BITS, {})
        for piece in pieces_of(row["text"]):
            shard.setdefault(piece, set()).add(row["id"] & SIZE - 1)
    for number, pieces in gone.items():
        for piece in sorted(pieces):
            _remove(connection, number, piece, pieces[piece])


def _remove(connection: sqlite3.Connection, shard: int, piece: str, places: set[int]) -> None:
    key = (shard, encode(piece))
    found = connection.execute(_DOCS, key).fetchone()
    left = without(found["docs"], places) if found else b""
    if left:
        connection.execute("UPDATE search_pieces SET docs = ? WHERE shard = ? AND piece = ?", (left, *key))
    else:
        connection.execute("DELETE FROM search_pieces WHERE shard = ? AND piece = ?", key)


def _queue_those_by_other_rules(connection: sqlite3.Connection) -> None:
    """Empty the shards that another Python's Unicode tables made: their pieces could not be taken out one by one."""
    others = connection.execute("SELECT shard FROM search_shards WHERE recipe != ?", (recipe(),)).fetchall()
    for (shard,) in others:
        connection.execute("DELETE FROM search_pieces WHERE shard = ?", (shard,))
        connection.execute("DELETE FROM search_shards WHERE shard = ?", (shard,))
        low, high = shard << BITS, (shard + 1 << BITS) - 1
        # Spans never overlap: one that is already inside goes, one that reaches in from outside is cut.
        connection.execute(
            "DELETE FROM search_queue WHERE low BETWEEN ? AND ? AND high <= ?", (low, high, high)
        )
        connection.execute("UPDATE search_queue SET low = ? WHERE low BETWEEN ? AND ?", (high + 1, low, high))
        connection.execute(
            "UPDATE search_queue SET high = ? WHERE low < ? AND high >= ?", (low - 1, low, low)
        )
        connection.execute("INSERT INTO search_queue (low, high) VALUES (?, ?)", (low, high))
