"""A database in memory for sessions whose file cannot be written, and what befell that file.

Knows nothing of who asks, or when it is tried again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from chatkv.errors import StoreError
from chatkv.store.database import APPLICATION_ID, VERSION
from chatkv.store.failures import explained
from chatkv.store.whole import Whole

# Mistakes in a statement or its values (https://sqlite.org/rescode.html): another file would not help.
_OURS = {
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_MISUSE,
    sqlite3.SQLITE_RANGE,
    sqlite3.SQLITE_TOOBIG,
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_GLANCE_S = 0.05
# https://sqlite.org/fileformat.html: how a database begins, and its log in either byte order.
_MAIN = b"SQLite format 3\0"
_LOG = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")

Identity = tuple[int, int] | None


class Place:
    """Where a database lies, and whether it is still the one that was opened there.

    SQLite goes on writing to a file that was deleted, renamed or replaced, and does not look again at what it has
    in its cache: it says nothing.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._log = file, Path(f"{file}-wal")
        # Kept open as long as the connection: to close any handle of a file gives up all locks of this process.
        self._handles = [_opened(self._file), _opened(self._log)]
        self._was, self._log_was = _identity(self._file), _identity(self._log)
        self._n_bytes = 0

    def trouble(self) -> str:
        """What became of the file, as a sentence; empty if it is where it was."""
        now = _identity(self._file)
        if now != self._was:
            return (
                f"{self._file} was {'deleted or moved away' if now is None else 'replaced by another file'}."
            )
        return f"{self._file} was overwritten." if self.is_overwritten() else ""

    def is_overwritten(self) -> bool:
        """Whether the file or its log begins otherwise than SQLite writes them."""
        main, log = (_beginning(handle) for handle in self._handles)
        shrunk, self._n_bytes = len(main) < self._n_bytes, len(main)
        return shrunk or not (_MAIN.startswith(main[:16]) and (not log or log.startswith(_LOG)))

    def leave(self, connection: sqlite3.Connection) -> None:
        """Close a connection to the file, so that its log goes with it and not to whatever is there now."""
        moved = _identity(self._file) != self._was
        with contextlib.suppress(sqlite3.Error):
            if moved:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        with contextlib.suppress(sqlite3.Error):
            connection.close()
        self.forget()
        if moved and self._log_was is not None and _identity(self._log) == self._log_was:
            for name in (self._log, Path(f"{self._file}-shm")):
                with contextlib.suppress(OSError):
                    name.unlink(missing_ok=True)

    def forget(self) -> None:
        """The connection was closed: the file need not be watched any more."""
        for handle in self._handles:
            if handle is not None:
                os.close(handle)
        self._handles = [None, None]


def is_failure(error: StoreError) -> bool:
    """Whether it was the file or the disk that failed, not what was asked of it."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        return code is not None and code & 0xFF not in _OURS
    return isinstance(cause, OSError)


def is_damage(error: StoreError) -> bool:
    """Whether the file is there and holds what SQLite did not write."""
    return getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def memory_database(last_ids: Mapping[str, int]) -> sqlite3.Connection:
    """An empty database with the tables of a file, in memory. Its ids go on after `last_ids`, by table."""
    import sqlite_utils

    from chatkv.store.schema import migrations

    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    migrations.apply(sqlite_utils.Database(connection, execute_plugins=False))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    # A session may name one that is in the file alone.
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.executemany("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", last_ids.items())
    return connection


def last_ids(connection: sqlite3.Connection) -> dict[str, int]:
    """By table, the last id that was given out; nothing where the file cannot be read."""
    try:
        return {row["name"]: row["seq"] for row in connection.execute("SELECT * FROM sqlite_sequence")}
    except sqlite3.Error:
        return {}


def is_free(file: Path) -> bool:
    """Whether `file` could be written at this moment, by a look that does not wait. True if there is none."""
    if not os.path.lexists(file):
        return True
    try:
        connection = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=_GLANCE_S, isolation_level=None
        )
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        finally:
            connection.close()
    except sqlite3.Error:
        return False
    return True


def is_sound(connection: sqlite3.Connection) -> bool:
    """Whether SQLite finds nothing wrong with a file. Reads all of it."""
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.Error:
        return False


def under(session_id: str, whole: Whole) -> Whole:
    """`whole` as a session of another id."""
    if session_id == whole.session["id"]:
        return whole
    tables = {item.name: getattr(whole, item.name) for item in dataclasses.fields(whole)}
    session = {**tables.pop("session"), "id": session_id}
    rows = {name: [{**row, "session_id": session_id} for row in table] for name, table in tables.items()}
    return Whole(session, **rows)


def rescue(connection: sqlite3.Connection, file: Path) -> Path:
    """Write a database in memory to a new private file beside `file`, else among temporary files; its path.

    Raises `StoreError` if there is no place for it at all.
    """
    name = f"{file.stem}-unsaved-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.db"
    try:
        return _written(connection, file.with_name(name))
    except StoreError:
        return _written(connection, Path(tempfile.gettempdir()) / name)


def _written(connection: sqlite3.Connection, target: Path) -> Path:
    with explained(target, "rescue the conversation"):
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            copy = sqlite3.connect(target)
            try:
                connection.backup(copy)
            finally:
                copy.close()
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    return target


def _identity(file: Path) -> Identity:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _opened(file: Path) -> int | None:
    """A handle to look at `file`; None where there is none, or where an open handle keeps others from moving it."""
    if not hasattr(os, "pread"):
        return None
    try:
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _beginning(handle: int | None) -> bytes:
    try:
        return b"" if handle is None else os.pread(handle, 100, 0)
    except OSError:
        return b""
