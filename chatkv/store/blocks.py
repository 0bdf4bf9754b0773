"""Blocks of KV on disk: one private file each, beside the database, and the index that says what they hold.

Knows nothing of tensors: a block is bytes with a name. The index has a digest of each file, so that neither a changed
file nor a changed row passes. A file is durable before its row is; a row is gone before its file is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sqlite3
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from chatkv.errors import DamagedBlockError
from chatkv.paths import private_folder
from chatkv.store.database import insert
from chatkv.store.failures import explained
from chatkv.store.rates import Rates
from chatkv.store.records import BlockRecord
from chatkv.store.values import decode_row, encode

# A damaged row may hold anything: what is no text or number must not keep the others from being read.
_SELECT = """
    SELECT CAST(name AS BLOB) AS name, CAST(parent AS BLOB) AS parent, CAST(fingerprint AS BLOB) AS fingerprint,
        CAST(ids AS BLOB) AS ids, CAST(n_bytes AS INTEGER) AS n_bytes, CAST(digest AS BLOB) AS digest,
        CAST(created_at AS REAL) AS created_at, CAST(used_at AS REAL) AS used_at FROM blocks"""
_NAME = re.compile(r"[0-9a-f]{64}(\.[a-z0-9]{1,8})?")
"""A block may be there in several forms: what follows the dot says which. `parent` never has it."""
_TEXTS = ("name", "parent", "fingerprint", "digest")
_SUFFIX = ".safetensors"
_LEAVES = """
    SELECT name, n_bytes FROM blocks
    WHERE NOT EXISTS (SELECT 1 FROM blocks AS later WHERE later.parent = substr(blocks.name, 1, 64))
    ORDER BY used_at, created_at DESC, name LIMIT 32"""
_UNUSED = "SELECT name FROM blocks WHERE NOT EXISTS (SELECT 1 FROM block_users WHERE block_users.name = blocks.name)"


_USAGE = """
    SELECT sessions.id, sessions.title, count(*) AS n, sum(blocks.n_bytes) AS n_bytes
    FROM block_users JOIN blocks USING (name) JOIN sessions ON sessions.id = block_users.session_id
    GROUP BY sessions.id ORDER BY n_bytes DESC, sessions.id LIMIT ?"""


class Blocks(Rates):
    """The part of the store that keeps KV blocks."""

    @property
    def block_folder(self) -> Path:
        """Where the files are: `chatkv.db-kv` beside `chatkv.db`."""
        return self.file.with_name(self.file.name + "-kv")

    def block_children(self, parent: str, fingerprint: str) -> list[BlockRecord]:
        """The blocks that go on from `parent`, the most recently used first."""
        with self._reading("look for KV blocks") as connection:
            rows = connection.execute(
                f"{_SELECT} WHERE parent = ? AND fingerprint = ? ORDER BY used_at DESC, name",
                (parent, fingerprint),
            )
            return [_record(row) for row in rows]

    def has_block(self, name: str, parent: str, fingerprint: str, ids: Sequence[int]) -> bool:
        """Whether the index has this block and says the same of it, and a file of its size is there."""
        with self._reading("look for a KV block") as connection:
            return self._is_kept(connection, name, parent, fingerprint, ids)

    def uses_blocks(self, session_id: str) -> bool:
        """Whether any KV of the session was ever kept, and not evicted since."""
        with self._reading("look for KV blocks") as connection:
            found = connection.execute(
                "SELECT 1 FROM block_users WHERE session_id = ? LIMIT 1", (session_id,)
            )
            return found.fetchone() is not None

    def put_block(
        self, name: str, parent: str, fingerprint: str, ids: Sequence[int], payload: bytes, session_id: str
    ) -> bool:
        """Keep a block for a session, unless it is kept already: then the session uses it, too. Whether it is new.

        On return it survives a power cut. Raises `StoreError` on a full or failing disk; nothing is left then.
        """
        if self.has_block(name, parent, fingerprint, ids):
            self.use_blocks(session_id, [name])
            return False
        file, now = self._block_file(name), self.clock()
        temporary = file.with_name(f"{name}.{os.getpid()}.tmp")
        values: dict[str, object] = {
            "name": name,
            "parent": parent,
            "fingerprint": fingerprint,
            "ids": tuple(ids),
        }
        values |= {"n_bytes": len(payload), "digest": hashlib.sha256(payload).hexdigest()}
        try:
            with explained(file, "write a KV block"):
                private_folder(self.block_folder)
                _write_through(temporary, payload)
            with self._writing("index a KV block") as connection:
                # Asked again under the lock: another process may have kept it, with other rounding, a moment ago.
                is_new = not self._is_kept(connection, name, parent, fingerprint, ids)
                if is_new:
                    delete_rows(connection, [name])
                    with explained(file, "write a KV block"):
                        if file.is_dir():
                            _remove(file)
                        temporary.replace(file)
                        _sync_folder(self.block_folder)
                    insert(connection, "blocks", {**values, "created_at": now, "used_at": now})
                _add_users(connection, session_id, [name])
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        return is_new

    def read_block(self, block: BlockRecord) -> bytes:
        """The bytes of a block. Raises `DamagedBlockError` if they are not those that were written."""
        if not _NAME.fullmatch(block.name):
            raise DamagedBlockError("The index of a KV block is damaged.")
        try:
            payload = self._block_file(block.name).read_bytes()
        except OSError as error:
            raise DamagedBlockError(
                f"KV block {block.name[:12]} cannot be read: {error.strerror}."
            ) from error
        if len(payload) != block.n_bytes or hashlib.sha256(payload).hexdigest() != block.digest:
            raise DamagedBlockError(f"KV block {block.name[:12]} is damaged.")
        return payload

    def use_blocks(self, session_id: str, names: Iterable[str]) -> None:
        """Note that a session uses blocks now: they live as long as it does, and are evicted late."""
        wanted = list(names)
        with self._writing("note the use of KV blocks") as connection:
            _add_users(connection, session_id, wanted)
            now = self.clock()
            connection.executemany(
                "UPDATE blocks SET used_at = ? WHERE name = ?", [(now, name) for name in wanted]
            )

    def forget_blocks(self, names: Iterable[str]) -> None:
        """Delete blocks, rows first."""
        gone = list(names)
        with self._writing("forget KV blocks") as connection:
            delete_rows(connection, gone)
            if not all(map(_NAME.fullmatch, gone)):
                connection.execute(
                    "DELETE FROM blocks WHERE typeof(name) <> 'text' OR length(name) NOT BETWEEN 64 AND 73"
                )
        self._unlink(gone)

    def evict_blocks(self, max_bytes: int) -> int:
        """Delete the least recently used blocks, the ends of chains first, until `max_bytes` are kept; bytes freed."""
        freed = 0
        while (over := self.block_totals()[1] - max_bytes) > 0:
            with self._reading("look for old KV blocks") as connection:
                leaves = connection.execute(_LEAVES).fetchall()
            if not leaves:
                return freed
            names = []
            for row in leaves:
                names.append(row["name"])
                over -= row["n_bytes"]
                freed += row["n_bytes"]
                if over <= 0:
                    break
            self.forget_blocks(names)
        return freed

    def drop_unused_blocks(self) -> int:
        """Delete blocks that no session uses any more; how many."""
        with self._reading("look for unused KV blocks") as connection:
            names = [row["name"] for row in connection.execute(_UNUSED)]
        if names:
            self.forget_blocks(names)
        return len(names)

    def all_blocks(self) -> list[BlockRecord]:
        """Every block of the index, oldest first."""
        with self._reading("list KV blocks") as connection:
            return [_record(row) for row in connection.execute(f"{_SELECT} ORDER BY created_at, name")]

    def block_totals(self) -> tuple[int, int]:
        """(blocks, their bytes)."""
        with self._reading("count KV blocks") as connection:
            row = connection.execute(
                "SELECT count(*) AS n, coalesce(sum(n_bytes), 0) AS n_bytes FROM blocks"
            ).fetchone()
            return int(row["n"]), int(row["n_bytes"])

    def block_usage(self, limit: int) -> list[tuple[str, str, int, int]]:
        """(session id, title, blocks, bytes) of the sessions that use most; shared blocks count for each."""
        with self._reading("count KV blocks") as connection:
            rows = connection.execute(_USAGE, (limit,)).fetchall()
        return [(row["id"], str(decode_row(row)["title"]), row["n"], row["n_bytes"]) for row in rows]

    def stray_files(self) -> list[Path]:
        """Files in the folder that no row knows: what a process left that died in mid-write or mid-delete."""
        known = {block.name + _SUFFIX for block in self.all_blocks()}
        with explained(self.block_folder, "list KV blocks"):
            here = self.block_folder.iterdir() if self.block_folder.exists() else ()
            return sorted(file for file in here if file.name not in known)

    def _is_kept(
        self, connection: sqlite3.Connection, name: str, parent: str, fingerprint: str, ids: Sequence[int]
    ) -> bool:
        found = "SELECT n_bytes FROM blocks WHERE name = ? AND parent = ? AND fingerprint = ? AND ids = ?"
        values = (name, parent, fingerprint, encode(tuple(ids)))
        row = connection.execute(found, values).fetchone()
        try:
            return row is not None and self._block_file(name).stat().st_size == row["n_bytes"]
        except OSError:
            return False

    def _block_file(self, name: str) -> Path:
        return self.block_folder / (name + _SUFFIX)

    def _unlink(self, names: Iterable[str]) -> None:
        """Delete the files of blocks whose rows are gone, unless another process has written them again meanwhile."""
        paths = [(name, self._block_file(name)) for name in names if _NAME.fullmatch(name)]
        if not paths:
            return
        with self._writing("delete KV blocks") as connection:
            for name, file in paths:
                if connection.execute("SELECT 1 FROM blocks WHERE name = ?", (name,)).fetchone() is None:
                    with contextlib.suppress(OSError):  # a file without a row is swept up later
                        _remove(file)


def _record(row: sqlite3.Row) -> BlockRecord:
    values = dict(row)
    ids = values.pop("ids") or b""
    texts = {
        name: value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
        for name, value in values.items()
        if name in _TEXTS
    }
    n_ids = len(ids) // 4
    return BlockRecord(**{**values, **texts, "ids": struct.unpack(f"<{n_ids}I", ids[: 4 * n_ids])})


def release_blocks(connection: sqlite3.Connection, session_id: str) -> list[str]:
    """Delete the rows of the blocks that this session alone uses; their names."""
    connection.execute("DELETE FROM block_users WHERE session_id = ?", (session_id,))
    names = [row["name"] for row in connection.execute(_UNUSED)]
    delete_rows(connection, names)
    return names


def delete_rows(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """Delete blocks from the index."""
    for name in names:
        connection.execute("DELETE FROM block_users WHERE name = ?", (name,))
        connection.execute("DELETE FROM blocks WHERE name = ?", (name,))


def _add_users(connection: sqlite3.Connection, session_id: str, names: Iterable[str]) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO block_users (session_id, name) SELECT ?, name FROM blocks WHERE name = ?",
        [(encode(session_id), name) for name in names],
    )


def _remove(file: Path) -> None:
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)


def _write_through(file: Path, payload: bytes) -> None:
    """Write a new file, mode 0600, and wait until the disk has it."""
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as sink:
        sink.write(payload)
        sink.flush()
        os.fsync(sink.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
