"""Databases as past versions of chatkv wrote them, with something in every table."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import sqlite_utils

from chatkv.store import database, schema
from chatkv.store.values import encode

Rows = dict[str, list[tuple[Any, ...]]]

N_MESSAGES = 6

_TURN = (1, "s1", 1, 1, 2, "stop", 10, 20, 0, 30, 0, 0.5, 0.01, 2.0, 100, 200, 300, 60, "m", 6.0)

_BLOCKS: Rows = {
    "blocks": [("a" * 64, "root", "f", encode((1, 2)), 2, "digest", 6.0, 6.0)],
    "block_users": [("s1", "a" * 64)],
    "kv_rates": [("f", 500.0, 1e9)],
    "kv_verdicts": [("f", "m", 1, 0.01, 0.99, 512)],
}


_TEXTS = [
    "naïve 日本語",
    "the kvcaches answer",
    "edited 👍🏽",
    "cut\\0here",
    "half an",
    "表 and utils.py",
]


def rows_of(version: int, n_copies: int = 1) -> Rows:
    """What `past` puts into each table. `n_copies`: how often the six messages come, each time under a longer path."""
    later, blocks = version >= 2, version >= 3
    messages: list[tuple[Any, ...]] = []
    for copy in range(n_copies):
        first = copy * N_MESSAGES + 1
        for number, text in enumerate(_TEXTS):
            user = number % 2 == 0
            text = text.replace("\\0", "\0")
            messages.append(
                (
                    first + number,
                    "s1",
                    first + number - 1 if copy or number else None,
                    "user" if user else "assistant",
                    encode(f"{text} {copy}" if copy else text),
                    "" if user else "hm",
                    b"" if user else encode((7, 300_000)),
                    0 if user else 1,
                    "streaming" if number == 5 and copy == 0 else "complete",
                    number // 2 + 1,
                    "m",
                    5.0 + number,
                    *(["recalled words" if user else ""] if later else []),
                )
            )
    origin, spec = [None] if later else [], ["./m"] if blocks else []
    rows: Rows = {
        "sessions": [
            ("s1", "old title", "m", "be kind", n_copies * N_MESSAGES, 5.0, 6.0, *origin, *spec),
            ("s2", "empty one", "m", None, None, 7.0, 8.0, *(["s1"] if later else []), *spec),
        ],
        "messages": messages,
        "turns": [_TURN],
        "events": [(1, "s1", "note", json.dumps({"word": "é"}), 6.0), (2, None, "start", "{}", 6.0)],
        "claims": [("s1", "999999999:1.0", 6.0)],
    }
    if later:
        rows |= {
            "summaries": [
                (1, "s1", 2, "[1]", "so far", "model", "", 0, 6.0),
                (2, "s1", 2, "[]", "no", "model", "", 1, 6.0),
            ],
            "pins": [("s1", 1, 6.0)],
            "documents": [(1, "s1", "doc", "one two", 6.0)],
            "passages": [(1, 1, "s1", "one"), (2, 1, "s1", "two")],
        }
    return rows | _BLOCKS if blocks else rows


def past(file: Path, version: int, n_copies: int = 1) -> Rows:
    """Write `file` as schema `version` (1 to 3) had it, mode 0600, in WAL mode; what it holds."""
    os.close(os.open(file, os.O_CREAT, 0o600))
    db = sqlite_utils.Database(file)
    schema.migrations.apply(db, stop_before=f"v{version + 1}")
    rows = rows_of(version, n_copies)
    with db.conn:
        for table, values in rows.items():
            marks = ", ".join("?" * len(values[0]))
            db.conn.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
        if version >= 3:
            db.execute("INSERT INTO search_queue (low, high) VALUES (1, ?)", (len(rows["messages"]),))
        for row in rows["messages"] if version < 3 else ():
            if row[8] != "streaming":
                db.execute("INSERT INTO message_search (rowid, text) VALUES (?, ?)", (row[0], row[4]))
        db.execute(f"PRAGMA application_id = {database.APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {version}")
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    return rows


def content(file: Path) -> tuple[int, Rows]:
    """The version of a file and the rows of its tables of old, as they are now; columns added since left out."""
    connection = sqlite3.connect(file)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        wanted = [table for table in rows_of(3) if table in tables]
        return version, {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in wanted}
    finally:
        connection.close()
