"""From every past version to this one: nothing lost, a copy kept beside it, whatever happens in between."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from past import content, past
from thorough import examples

import chatkv
from chatkv.errors import StoreError
from chatkv.store import Store, database, schema, upgrade

OPEN = "import sys; from pathlib import Path; from chatkv.store import Store; Store.open(Path(sys.argv[1])).close()"
WAIT = "import sys; import chatkv.store.schema; print('up', flush=True); sys.stdin.readline()\n"
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "chat.db"


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    root = str(Path(chatkv.__file__).parents[1])
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": root}, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_upgrade_keeps_every_row_and_gains_what_is_new(file: Path, version: int) -> None:
    old = past(file, version)
    with Store.open(file) as store:
        record = store.session("s1")
        path = store.path(record.leaf_id)
        assert [message.text for message in path][:4] == [
            "naïve 日本語",
            "the kvcaches answer",
            "edited 👍🏽",
            "cut\0here",
        ]
        assert (path[1].ids, path[1].thought, path[5].status) == ((7, 300_000), "hm", "streaming")
        assert len(store.turns("s1")) == 1
        assert store.recover("s1") == 1
        for query, expected in (("cache", 2), ("本", 1), ("👍", 3), ("naive", 1), ("utils.py", 6), ("表", 6)):
            assert [hit.message_id for hit in store.search(query)] == [expected], query
        assert [hit.session_id for hit in store.search("empty")] == ["s2"]
        assert store.index_some() == 0
        assert [hit.message_id for hit in store.search("cache")] == [2]
        assert store.put_block("b" * 64, "root", "f", (1, 2), b"kv", "s1")
        store.delete("s1")
        assert store.search("cache") == []
    past_version, kept = content(upgrade.backup_file(file, version))
    assert (past_version, kept) == (version, old)
    assert b"kvcaches" not in file.read_bytes()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_table_of_old_has_the_same_rows_after_an_upgrade(file: Path, version: int) -> None:
    old = past(file, version)
    Store.open(file).close()
    now_version, now = content(file)
    assert now_version == database.VERSION
    for table, rows in old.items():
        assert [row[: len(rows[0])] for row in now[table]] == rows, table
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    fresh = Store.open(file.with_name("fresh.db"))
    with fresh._reading("look") as other:
        ask = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
        assert list(map(tuple, other.execute(ask))) == connection.execute(ask).fetchall()
    fresh.close()
    connection.close()


def test_the_copy_is_private_whole_and_can_be_opened_in_its_place(file: Path) -> None:
    past(file, 2)
    before = os.umask(0)
    told: list[str] = []
    try:
        Store.open(file, tell=told.append).close()
    finally:
        os.umask(before)
    copy = upgrade.backup_file(file, 2)
    assert len(told) == 1
    assert str(file) in told[0]
    assert copy.name in told[0]
    assert sorted(path.name for path in file.parent.iterdir()) == ["chat.db", "chat.db.v2.bak"]
    assert copy.stat().st_mode & 0o777 == 0o600
    again = file.with_name("again.db")
    shutil.copy(copy, again)
    with Store.open(again) as store:
        assert [hit.message_id for hit in store.search("kvca")] == [2]


def test_a_new_or_empty_or_current_file_needs_no_copy(file: Path) -> None:
    told: list[str] = []
    Store.open(file, tell=told.append).close()
    Store.open(file, tell=told.append).close()
    assert told == []
    empty = file.with_name("empty.db")
    past(empty, 2)
    connection = sqlite3.connect(empty)
    for table in (
        "claims",
        "pins",
        "passages",
        "documents",
        "summaries",
        "turns",
        "events",
        "messages",
        "sessions",
    ):
        connection.execute(f"DELETE FROM {table}")
    connection.commit()
    connection.close()
    Store.open(empty).close()
    assert not list(file.parent.glob("*.bak*"))


def test_without_room_for_a_copy_nothing_is_touched(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = past(file, 2)
    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "_MARGIN_BYTES", 1 << 62)
        with pytest.raises(StoreError, match="not so much room") as caught:
            Store.open(file)
    assert "Free some space" in caught.value.hint
    assert content(file) == (2, old)
    assert not list(file.parent.glob("*.bak*"))
    Store.open(file).close()
    assert content(file)[0] == database.VERSION


def test_a_copy_that_cannot_be_written_stops_the_upgrade(file: Path) -> None:
    """The disk turns full in the middle: here, a limit on the size of files."""
    old = past(file, 2, n_copies=300)
    limit = file.stat().st_size // 2
    assert limit > resource.getpagesize()
    with child("import sys\n" + LIMIT + OPEN, file, limit) as process:
        _, said = process.communicate()
    assert process.returncode == 1
    assert "StoreError" in said
    assert "was not brought up to date: the copy could not be written" in said
    assert content(file) == (2, old)
    assert not list(file.parent.glob("*.bak*"))


def test_what_a_dead_process_left_of_a_copy_is_overwritten(file: Path) -> None:
    old = past(file, 2)
    half = file.with_name("chat.db.v2.bak.part")
    half.write_bytes(b"half" * 100_000)
    half.chmod(0o644)
    upgrade.backup_file(file, 2).write_bytes(b"an older copy")
    Store.open(file).close()
    assert not half.exists()
    copy = upgrade.backup_file(file, 2)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert content(copy) == (2, old)


def test_a_migration_that_fails_leaves_the_second_version_as_it_was(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = past(file, 2)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "_V3", (*schema._V3, "CREATE TABLE blocks (twice)"))
        with pytest.raises(StoreError, match="already exists"):
            Store.open(file)
    assert content(file) == (2, old)
    with Store.open(file) as store:
        assert [hit.message_id for hit in store.search("kvca")] == [2]


@pytest.mark.slow
def test_killed_at_any_moment_of_an_upgrade_the_file_opens_and_upgrades(file: Path) -> None:
    pristine = file.with_name("pristine.db")
    old = past(pristine, 2, n_copies=400)
    shutil.copy(pristine, file)
    with child(WAIT + OPEN, file) as process:
        assert process.stdout is not None
        process.stdout.readline()
        started = time.monotonic()
        process.communicate("go\n")
    took = time.monotonic() - started
    versions = set()
    for seed in range(examples(6, 16)):
        for stale in file.parent.glob("chat.db*"):
            stale.unlink()
        shutil.copy(pristine, file)
        with child(WAIT + OPEN, file) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            process.stdout.readline()
            process.stdin.write("go\n")
            process.stdin.flush()
            time.sleep(random.Random(seed).uniform(0, took))
            process.send_signal(signal.SIGKILL)
        version, rows = content(file)
        versions.add(version)
        assert {table: [row[: len(first[0])] for row in rows[table]] for table, first in old.items()} == old
        with Store.open(file) as store:
            assert store.session("s1").n_messages == len(old["messages"])
            while store.index_some(5000):
                pass
            assert len(store.search("kvca", limit=1000)) == 400
        assert content(upgrade.backup_file(file, 2)) == (2, old)
        assert not list(file.parent.glob("*.part"))
    assert versions <= {2, database.VERSION}  # the old file or the new one, never one in between


def test_processes_that_upgrade_at_once_all_get_a_current_file(file: Path) -> None:
    old = past(file, 1, n_copies=200)
    processes = [child(WAIT + OPEN, file) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, said = process.communicate()
        assert (process.returncode, said) == (0, "")
    assert content(upgrade.backup_file(file, 1)) == (1, old)
    with Store.open(file) as store:
        assert store.session("s1").n_messages == len(old["messages"])
