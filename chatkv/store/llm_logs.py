"""The log database of the command line tool `llm`, read and never written: its rows as it has them.

Knows nothing of what becomes of them. Tables and columns came and went over the years: what is not there is absent
from a row.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatkv.errors import StoreError
from chatkv.store.failures import explained

Row = dict[str, Any]

_BEGINNING = b"SQLite format 3\0"
_READ: dict[str, tuple[str, ...]] = {
    "responses": (
        "id",
        "conversation_id",
        "model",
        "prompt",
        "system",
        "response",
        "datetime_utc",
        "reasoning",
    ),
    "conversations": ("id", "name", "model"),
    "fragments": ("id", "content"),
    "prompt_fragments": ("response_id", "fragment_id", "order"),
    "system_fragments": ("response_id", "fragment_id", "order"),
    "prompt_attachments": ("response_id", "attachment_id"),
    "tool_calls": ("response_id", "name", "arguments"),
    "tool_results": ("response_id", "name", "output"),
}
# Indexes, and what only says how an answer came about.
_PASSED = {"_llm_migrations", "schemas", "fragment_aliases", "attachments", "tools", "tool_responses"}
_PASSED |= {"tool_instances", "tool_results_attachments", "sqlite_sequence", "sqlite_stat1"}


@dataclass(frozen=True, slots=True)
class LoggedResponse:
    """One prompt and what came back. Values are as SQLite has them, of any type; columns it lacks are absent."""

    row: Row
    prompt_fragments: tuple[Any, ...]
    system_fragments: tuple[Any, ...]
    tool_calls: tuple[Row, ...]
    tool_results: tuple[Row, ...]
    n_attachments: int


@dataclass(frozen=True, slots=True)
class LlmLogs:
    """`conversations` by id; `responses` in the order they were logged; `unread`: other tables that hold rows."""

    conversations: dict[Any, Row]
    responses: list[LoggedResponse]
    unread: tuple[str, ...]


def is_sqlite(beginning: bytes) -> bool:
    """Whether a file that begins so is an SQLite database."""
    return beginning.startswith(_BEGINNING)


def read_llm_logs(file: Path) -> LlmLogs:
    """All rows of a log database. Raises `StoreError` if `file` is none, is damaged or cannot be read."""
    with explained(file, "read the log of llm"), _undamaged(file):
        connection = _opened(file)
        try:
            return _read(file, connection)
        finally:
            connection.close()


@contextmanager
def _undamaged(file: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite's own message quotes a name that is no text
        raise StoreError(
            f"Cannot read the log of llm in {file}: the file is damaged.", "Restore a backup."
        ) from error


def _opened(file: Path) -> sqlite3.Connection:
    uri = file.absolute().as_uri()
    try:
        return _prepared(f"{uri}?mode=ro")
    except sqlite3.OperationalError:
        # A log kept in WAL mode where no file can be made beside it; without a -wal nobody is writing.
        if Path(f"{file}-wal").exists():
            raise
        return _prepared(f"{uri}?immutable=1")


def _prepared(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=5.0, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        # The file is another program's: nothing that it defines is to run.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _read(file: Path, connection: sqlite3.Connection) -> LlmLogs:
    tables = _tables(connection)
    if "responses" not in tables:
        raise StoreError(
            f"{file} is an SQLite database, but no log of llm: it has no table “responses”.",
            "`llm logs path` says where the log is.",
        )
    found = {
        name: _rows(connection, name, columns) if name in tables else [] for name, columns in _READ.items()
    }
    fragments = {row.get("id"): row.get("content") for row in found["fragments"]}
    in_prompt, in_system = (
        {key: tuple(fragments.get(row.get("fragment_id")) for row in rows) for key, rows in groups.items()}
        for groups in (_by_response(found["prompt_fragments"]), _by_response(found["system_fragments"]))
    )
    calls, results = _by_response(found["tool_calls"]), _by_response(found["tool_results"])
    attachments = _by_response(found["prompt_attachments"])
    responses = [
        LoggedResponse(
            row,
            in_prompt.get(row.get("id"), ()),
            in_system.get(row.get("id"), ()),
            tuple(calls.get(row.get("id"), ())),
            tuple(results.get(row.get("id"), ())),
            len(attachments.get(row.get("id"), ())),
        )
        for row in found["responses"]
    ]
    others = sorted(name for name in tables if name not in _READ and name not in _PASSED)
    unread = tuple(
        name for name in others if not name.startswith("responses_fts") and _holds_rows(connection, name)
    )
    return LlmLogs({row.get("id"): row for row in found["conversations"]}, responses, unread)


def _tables(connection: sqlite3.Connection) -> set[str]:
    """Plain tables. A view or a virtual table in the place of one could run for ever."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    return {row["name"] for row in rows if "virtual" not in str(row["sql"])[:40].lower()}


def _rows(connection: sqlite3.Connection, table: str, wanted: Sequence[str]) -> list[Row]:
    there = {row["name"] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})")}
    columns = [name for name in wanted if name in there]
    if not columns:
        return []
    order = [name for name in ("datetime_utc", "order") if name in columns]
    listed, ordered = ", ".join(map(_quoted, columns)), ", ".join([*map(_quoted, order), "rowid"])
    return [
        dict(row) for row in connection.execute(f"SELECT {listed} FROM {_quoted(table)} ORDER BY {ordered}")
    ]


def _holds_rows(connection: sqlite3.Connection, table: str) -> bool:
    return connection.execute(f"SELECT 1 FROM {_quoted(table)} LIMIT 1").fetchone() is not None


def _by_response(rows: Sequence[Row]) -> dict[Any, list[Row]]:
    groups: defaultdict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.get("response_id")].append(row)
    return groups


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
