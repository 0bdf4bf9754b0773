"""Everything that can befall a database file while it is open. Each trouble begins when entered, ends when left."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from chatkv.store import Store

Trouble = Callable[[Path, Store], AbstractContextManager[None]]


@contextmanager
def deleted(file: Path, _: Store) -> Iterator[None]:
    file.unlink()
    yield


@contextmanager
def deleted_with_its_log(file: Path, _: Store) -> Iterator[None]:
    _remove(file)
    yield


@contextmanager
def folder_deleted(file: Path, _: Store) -> Iterator[None]:
    shutil.rmtree(file.parent)
    yield


@contextmanager
def renamed(file: Path, _: Store) -> Iterator[None]:
    file.rename(file.with_name("aside.db"))
    yield


@contextmanager
def renamed_and_back(file: Path, _: Store) -> Iterator[None]:
    aside = file.with_name("aside.db")
    file.rename(aside)
    yield
    aside.replace(file)


@contextmanager
def replaced(file: Path, _: Store) -> Iterator[None]:
    """By another chatkv database, in which the same ids are someone else's."""
    other = file.with_name("other.db")
    with Store.open(other) as store:
        session = store.create_session("m", "another one")
        for turn in range(1, 4):
            store.add_exchange(session.id, None, "something else", turn, "m")
    other.replace(file)
    yield


@contextmanager
def replaced_by_text(file: Path, _: Store) -> Iterator[None]:
    note = file.with_name("note.txt")
    note.write_text("This was a database. " * 500)
    note.replace(file)
    yield
    file.unlink()


@contextmanager
def folder_in_its_place(file: Path, _: Store) -> Iterator[None]:
    file.unlink()
    file.mkdir()
    yield
    file.rmdir()


@contextmanager
def locked(file: Path, _: Store) -> Iterator[None]:
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


@contextmanager
def full(_: Path, store: Store) -> Iterator[None]:
    """What SQLite says when a file cannot grow."""
    store._connection.execute("PRAGMA max_page_count = 1")
    yield


@contextmanager
def damaged(file: Path, _: Store) -> Iterator[None]:
    """Database and log overwritten in place with other bytes."""
    for name in (file, Path(f"{file}-wal")):
        size = os.path.getsize(name)
        with name.open("r+b") as damage:
            damage.write(b"\xa5" * size)
    yield
    _remove(file)


@contextmanager
def unreadable(file: Path, store: Store) -> Iterator[None]:
    """Damaged, and nothing of it in a cache any more."""
    with damaged(file, store):
        store._connection.execute("PRAGMA shrink_memory")
        yield


@contextmanager
def emptied(file: Path, _: Store) -> Iterator[None]:
    os.truncate(file, 0)
    yield
    _remove(file)


def _remove(file: Path) -> None:
    for name in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
        name.unlink(missing_ok=True)


def settle(file: Path) -> None:
    """Bring what is in the log into the database, as SQLite does from time to time."""
    other = sqlite3.connect(file)
    other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    other.close()


GONE: list[Trouble] = [deleted, deleted_with_its_log, folder_deleted, renamed, renamed_and_back, replaced]
BARRED: list[Trouble] = [replaced_by_text, folder_in_its_place, locked, damaged, unreadable]
"""The file cannot be written until the trouble ends."""
ALL: list[Trouble] = [*GONE, *BARRED, emptied, full]
