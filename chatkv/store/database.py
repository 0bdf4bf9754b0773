"""The SQLite file: private, durable, one immediate transaction a change, every failure explained.

Knows nothing of sessions or messages.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from chatkv.errors import StoreError
from chatkv.paths import private_folder
from chatkv.store.failures import explained
from chatkv.store.values import encode

VERSION = 4
"""Number of migrations in `schema`: `user_version` of a current file."""

APPLICATION_ID = 0x63686B76  # "chkv" in the file's header: tells our file from another program's
BUSY_TIMEOUT_S = 5.0
CACHE_BYTES = 16 * 1024 * 1024


class DatabaseFile:
    """An open database. Used from one thread at a time; any number of processes may have the file open."""

    def __init__(self, file: Path, connection: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self.file = file
        self.clock = clock
        self._connection = connection

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        with explained(self.file, "close the database"):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _reading(self, act: str) -> Iterator[sqlite3.Connection]:
        with explained(self.file, act):
            yield self._connection

    @contextmanager
    def _writing(self, act: str) -> Iterator[sqlite3.Connection]:
        with explained(self.file, act), immediate(self._connection):
            yield self._connection


def connect(file: Path, *, read_only: bool, tell: Callable[[str], None]) -> sqlite3.Connection:
    """Open `file`, make it and bring its schema up to date unless `read_only`. Raises `StoreError`.

    `tell` is called with a sentence before a file of an older version is changed.
    """
    with explained(file, "open the database"):
        if read_only:
            return _opened_to_read(file)
        private_folder(file.parent)
        # SQLite gives -wal and -shm the mode of the database itself. A file that is there is not opened: to close
        # any handle of it gives up the locks of every connection that this process has.
        with suppress(FileExistsError):
            os.close(os.open(file, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return _prepared(f"{_uri(file)}?mode=rw", partial(_make_current, file, tell))


@contextmanager
def immediate(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that takes the write lock at once.

    One that began by reading would fail without waiting if another process wrote in between.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def insert(connection: sqlite3.Connection, table: str, values: dict[str, Any]) -> int:
    """Insert one row and return its rowid."""
    marks = ", ".join("?" * len(values))
    cursor = connection.execute(
        f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})",
        [encode(value) for value in values.values()],
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _uri(file: Path) -> str:
    return file.absolute().as_uri()


def _opened_to_read(file: Path) -> sqlite3.Connection:
    if not file.exists():
        raise StoreError(f"There is no database at {file}.", "Start a conversation first, or check the path.")
    check = partial(_check_current, file)
    try:
        return _prepared(f"{_uri(file)}?mode=ro", check)
    except sqlite3.OperationalError as error:
        # Reading a WAL database needs its -shm file. Where none can be made and no -wal is left, nobody writes.
        refused = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
        if not refused or Path(f"{file}-wal").exists():
            raise
        return _prepared(f"{_uri(file)}?immutable=1", check)


def _prepared(uri: str, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        # A message counts as saved before the model sees it. In WAL mode only FULL syncs the log at each
        # commit; NORMAL would lose the newest ones with the power. fullfsync: on macOS, the drive's cache as
        # well.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        # What a person deletes is overwritten with zeros, not only unlinked.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_BYTES // 1024}")
        prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_current(file: Path, tell: Callable[[str], None], connection: sqlite3.Connection) -> None:
    old = 0 < _schema_version(file, connection) < VERSION
    _use_wal(connection)
    if old:
        _bring_up_to_date(file, tell, connection)
    with immediate(connection):
        # Asked again under the lock: another process may have made the tables a moment ago.
        if _schema_version(file, connection) < VERSION:
            _migrate(connection)
        # Touches no row, yet fails now, and not at the first message, where the file cannot be written.
        connection.execute("DELETE FROM claims WHERE 0")


def _bring_up_to_date(file: Path, tell: Callable[[str], None], connection: sqlite3.Connection) -> None:
    """Back up and migrate a file of an older version, or wait while another process does."""
    from chatkv.store import upgrade

    connection.execute(f"PRAGMA busy_timeout = {upgrade.PATIENCE_S * 1000:.0f}")
    with immediate(connection):
        version = _schema_version(file, connection)
        if version < VERSION:
            upgrade.back_up(file, connection, version, tell)
            _migrate(connection)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000:.0f}")
    # The log may be as large as what was rebuilt. Busy readers only put this off.
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging, so that readers never wait. SQLite does not wait for this lock."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _migrate(connection: sqlite3.Connection) -> None:
    # Importing sqlite-utils takes a quarter of a second (it looks for numpy); a current file does without.
    import sqlite_utils

    from chatkv.store.schema import migrations

    migrations.apply(sqlite_utils.Database(connection, execute_plugins=False))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _check_current(file: Path, connection: sqlite3.Connection) -> None:
    if _schema_version(file, connection) < VERSION:
        raise StoreError(
            f"{file} lacks tables that this chatkv reads, and it is opened for reading only.",
            "Start chatkv once with this database: that adds them.",
        )


def _schema_version(file: Path, connection: sqlite3.Connection) -> int:
    """The file's schema version, 0 for an empty file. Raises `StoreError` if it is foreign or too new."""
    version, application_id, n_tables = connection.execute(
        """SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master)
        FROM pragma_user_version, pragma_application_id"""
    ).fetchone()
    if n_tables and application_id != APPLICATION_ID:
        raise StoreError(f"{file} is not a chatkv database.", "It was left untouched. Choose another path.")
    if version > VERSION:
        raise StoreError(
            f"{file} was written by a newer chatkv (schema {version}; this one knows {VERSION}).",
            "Update chatkv, or choose another database.",
        )
    return int(version) if n_tables else 0
