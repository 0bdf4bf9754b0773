"""SQLite's and the system's errors, said in words a person can act on. Knows nothing of tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chatkv.errors import StoreError, UsageError

# Primary result codes, https://sqlite.org/rescode.html: what happened, and what to do about it.
_REASONS: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_PERM: ("access is denied", "Check the owner and mode of the file."),
    sqlite3.SQLITE_BUSY: (
        "another process is writing and did not finish",
        "Try again, or close the other program.",
    ),
    sqlite3.SQLITE_LOCKED: ("it is locked", "Try again, or close the other program."),
    sqlite3.SQLITE_READONLY: (
        "it is read-only",
        "Make the file and its folder writable, or choose another database.",
    ),
    sqlite3.SQLITE_IOERR: ("the disk failed to read or write", "Check the disk and its free space."),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", "Restore a backup, or try `sqlite3 FILE .recover`."),
    sqlite3.SQLITE_FULL: (
        "the disk is full",
        "Free some space and try again; what was saved before is safe.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the file cannot be opened",
        "Check that its folder exists and that you may read and write there.",
    ),
    sqlite3.SQLITE_TOOBIG: ("the text is too long", "Send it in parts."),
    sqlite3.SQLITE_NOTADB: (
        "it is not an SQLite database",
        "Move the file away, or choose another database.",
    ),
}


@contextmanager
def explained(file: Path, act: str) -> Iterator[None]:
    """Turn failures inside the block into `StoreError`s that say what was tried (`act`, a verb phrase) where.

    A number beyond 64 bits cannot be the id of anything: `UsageError`.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        reason, hint = _REASONS.get(code, (str(error), "If this comes again, please report it."))
        raise StoreError(f"Cannot {act} in {file}: {reason}.", hint) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(
            f"Cannot {act} in {file}: {reason}.", "Check the path, its owner and its mode."
        ) from error
    except OverflowError as error:
        raise UsageError(f"Cannot {act}: a number is too large.") from error
