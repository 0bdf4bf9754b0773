"""A whole session as plain rows, out of a database and into one: for export, import and saving after a lost file.

A table's ids are kept where all of them are free; otherwise its rows are numbered anew, in order, and every
reference follows.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from chatkv.errors import UsageError
from chatkv.store import search
from chatkv.store.database import DatabaseFile, insert
from chatkv.store.sessions import clear_session, require_session
from chatkv.store.values import decode_row, encode

Row = dict[str, Any]

_NUMBERED = ("messages", "turns", "events", "summaries", "documents", "passages")
# AUTOINCREMENT goes on from the largest id there ever was, and at 2**63 there is nowhere left to go.
_MAX_KEPT_ID = 1 << 48


@dataclass(frozen=True, slots=True)
class Whole:
    """One session with everything that belongs to it, a dict a row, values as Python has them.

    `kept` of a summary is a list of message ids, `data` of an event is JSON's own value.
    """

    session: Row
    messages: list[Row] = field(default_factory=list)
    turns: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    summaries: list[Row] = field(default_factory=list)
    pins: list[Row] = field(default_factory=list)
    documents: list[Row] = field(default_factory=list)
    passages: list[Row] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a whole session went. `renumbered` is empty where every message kept its id."""

    session_id: str
    renumbered: dict[int, int]


class Wholes(DatabaseFile):
    """The part of the store that takes sessions out and puts them in as a whole."""

    def whole(self, session_id: str) -> Whole:
        """Everything of a session, undone summaries and all branches included. Raises `UsageError`."""
        with self._reading("read a session") as connection, _one_moment(connection):
            require_session(connection, session_id)
            found = connection.execute(
                "SELECT * FROM sessions WHERE id = ?", (encode(session_id),)
            ).fetchone()
            rows = {name: _rows(connection, name, session_id) for name in (*_NUMBERED, "pins")}
        for summary in rows["summaries"]:
            summary["kept"] = json.loads(summary["kept"])
        for event in rows["events"]:
            event["data"] = json.loads(event["data"])
        return Whole(decode_row(found), **rows)

    def put_whole(self, whole: Whole, *, replace: bool = False) -> Placed:
        """Store `whole` under its own session id, all of it or nothing.

        Raises `UsageError` if that id is taken, unless `replace`: then what is there goes first. `carried_from` is
        dropped where that session is not here.
        """
        with self._writing("store a session") as connection:
            return _put(connection, whole, replace=replace)

    def put_wholes(self, wholes: Iterable[Whole]) -> list[Placed]:
        """Store several sessions: all of them or nothing. Raises `UsageError` if an id is taken."""
        with self._writing("store sessions") as connection:
            return [_put(connection, whole, replace=False) for whole in wholes]


@contextmanager
def _one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is read inside is of one moment, whatever another process writes meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _put(connection: sqlite3.Connection, whole: Whole, *, replace: bool) -> Placed:
    session_id = whole.session["id"]
    taken = connection.execute("SELECT 1 FROM sessions WHERE id = ?", (encode(session_id),)).fetchone()
    if taken and not replace:
        raise UsageError(f"There is already a session {session_id}.", "Delete it first, or import a copy.")
    if taken:
        clear_session(connection, session_id)
    _put_session(connection, whole.session, fresh=not taken)
    messages = _numbers(connection, "messages", whole.messages)
    for message in _in_order(whole.messages):
        row = {**message, "id": messages[message["id"]], "parent_id": messages.get(message["parent_id"])}
        insert(connection, "messages", row)
        if row["status"] != "streaming":
            search.index(connection, row["id"], row["text"])
    try:
        _put_rest(connection, whole, messages)
    except KeyError as error:
        raise UsageError(f"Session {session_id} refers to row {error}, which it does not hold.") from error
    leaf = messages.get(whole.session["leaf_id"])
    connection.execute("UPDATE sessions SET leaf_id = ? WHERE id = ?", (leaf, encode(session_id)))
    return Placed(session_id, {old: new for old, new in messages.items() if old != new})


def _put_session(connection: sqlite3.Connection, session: Row, *, fresh: bool) -> None:
    values = {**session, "leaf_id": None}
    origin = connection.execute("SELECT 1 FROM sessions WHERE id = ?", (encode(session.get("carried_from")),))
    if origin.fetchone() is None:
        values["carried_from"] = None
    if fresh:
        insert(connection, "sessions", values)
        return
    names = [name for name in values if name != "id"]
    connection.execute(
        f"UPDATE sessions SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?",
        [encode(values[name]) for name in (*names, "id")],
    )


def _put_rest(connection: sqlite3.Connection, whole: Whole, messages: dict[int, int]) -> None:
    moved = any(old != new for old, new in messages.items())

    def at(message_id: int) -> int:
        # After renumbering, the number of a message that is not here may be someone else's.
        return messages.get(message_id, 0 if moved else message_id)

    turns = [
        {**turn, "user_id": at(turn["user_id"]), "message_id": at(turn["message_id"])} for turn in whole.turns
    ]
    events = [{**event, "data": json.dumps(event["data"], ensure_ascii=False)} for event in whole.events]
    summaries = []
    for summary in whole.summaries:
        kept = json.dumps([messages[kept] for kept in summary["kept"] if kept in messages])
        summaries.append({**summary, "kept": kept, "upto_id": messages[summary["upto_id"]]})
    for table, rows in (("turns", turns), ("events", events), ("summaries", summaries)):
        _insert_all(connection, table, rows)
    for pin in whole.pins:
        insert(connection, "pins", {**pin, "message_id": messages[pin["message_id"]]})
    documents = _insert_all(connection, "documents", whole.documents)
    passages = [{**passage, "document_id": documents[passage["document_id"]]} for passage in whole.passages]
    _insert_all(connection, "passages", passages)


def _insert_all(connection: sqlite3.Connection, table: str, rows: Sequence[Row]) -> dict[int, int]:
    """Insert rows that refer to nothing of their own table; the id that each one got."""
    numbers = _numbers(connection, table, rows)
    for row in _in_order(rows):
        insert(connection, table, {**row, "id": numbers[row["id"]]})
    return numbers


def _numbers(connection: sqlite3.Connection, table: str, rows: Sequence[Row]) -> dict[int, int]:
    """The id that each row gets: its own if all of them are free, else new ones in the same order."""
    ids = [int(row["id"]) for row in _in_order(rows)]
    if not ids:
        return {}
    if ids[-1] <= _MAX_KEPT_ID and not any(_is_taken(connection, table, row_id) for row_id in ids):
        return {row_id: row_id for row_id in ids}
    used = connection.execute(
        f"SELECT max(coalesce((SELECT max(id) FROM {table}), 0), "
        "coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0))",
        (table,),
    ).fetchone()[0]
    return {row_id: used + n for n, row_id in enumerate(ids, start=1)}


def _in_order(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: int(row["id"]))


def _is_taken(connection: sqlite3.Connection, table: str, row_id: int) -> bool:
    return connection.execute(f"SELECT 1 FROM {table} WHERE id = ?", (row_id,)).fetchone() is not None


def _rows(connection: sqlite3.Connection, table: str, session_id: str) -> list[Row]:
    order = "message_id" if table == "pins" else "id"
    found: Iterable[sqlite3.Row] = connection.execute(
        f"SELECT * FROM {table} WHERE session_id = ? ORDER BY {order}", (encode(session_id),)
    )
    return [decode_row(row) for row in found]
