"""A file of an older version becomes a current one: first a copy beside it, then the migrations, in one transaction.

Knows nothing of what the migrations do.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from chatkv.errors import StoreError

_MARGIN_BYTES = 16 * 1024 * 1024
PATIENCE_S = 600.0
"""How long a process waits for another one that upgrades the file."""


def backup_file(file: Path, version: int) -> Path:
    """Where the copy of `file` as schema `version` left it is put: `chatkv.db.v2.bak`."""
    return file.with_name(f"{file.name}.v{version}.bak")


def back_up(
    file: Path, connection: sqlite3.Connection, version: int, tell: Callable[[str], None]
) -> Path | None:
    """Copy the database beside itself, mode 0600, unless it has no session; where it is then.

    `tell` hears of it first, for a file of gigabytes takes a while. To be called with the write lock held, so that
    nothing is added afterwards. A copy of this version that was there is replaced once the new one is whole and on
    the disk. Raises `StoreError` if there is no room.
    """
    if connection.execute("SELECT 1 FROM sessions LIMIT 1").fetchone() is None:
        return None
    (n_bytes,) = connection.execute(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    ).fetchone()
    kept = backup_file(file, version)
    if shutil.disk_usage(file.parent).free < n_bytes + _MARGIN_BYTES:
        raise _no_copy(file, f"a copy of it takes {n_bytes / 1e6:,.0f} MB, and the disk has not so much room")
    tell(f"Bringing {file} up to date ({n_bytes / 1e6:,.1f} MB). What it is now is kept as {kept.name}.")
    # Only who has the write lock gets here: what lies there was left by a process that died.
    half = kept.with_name(f"{kept.name}.part")
    try:
        _copy(file, half)
        half.replace(kept)
        _sync(file.parent)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            half.unlink(missing_ok=True)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _no_copy(file, f"the copy could not be written ({reason})") from error
    return kept


def _copy(file: Path, target: Path) -> None:
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    target.chmod(0o600)  # one left behind may have had another
    with (
        closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(target, isolation_level=None)) as sink,
    ):
        # Nobody reads the copy before it is whole: it needs no journal.
        sink.execute("PRAGMA journal_mode = OFF")
        sink.execute("PRAGMA synchronous = OFF")
        source.backup(sink)
    _sync(target)


def _sync(path: Path) -> None:
    """Wait until the disk has a file's content, or a folder's names."""
    if path.is_dir() and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _no_copy(file: Path, reason: str) -> StoreError:
    return StoreError(
        f"{file} is of an older version and was not brought up to date: {reason}.",
        "It was left as it is. Free some space in its folder and start again.",
    )
