"""The file: private, refused with a clear word when it cannot be used, never harmed, nothing half-made."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import chatkv
from chatkv.errors import StoreError
from chatkv.store import Store, database, schema

NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "chat.db"


@pytest.fixture
def plain_user() -> Iterator[Path]:
    """A folder of one's own, and no privileges: to root nothing is read-only."""
    folder = Path(tempfile.mkdtemp())
    as_root = os.geteuid() == 0
    if as_root:
        os.chown(folder, NOBODY, -1)
        os.seteuid(NOBODY)
    yield folder
    if as_root:
        os.seteuid(0)
    folder.chmod(0o700)
    shutil.rmtree(folder)


def filled(file: Path) -> str:
    """A closed database with one message; returns its session's id."""
    with Store.open(file) as store:
        session = store.create_session("m", "first")
        store.add_message(session.id, None, "user", "hello walrus", turn=1)
        return session.id


def test_everything_is_private(tmp_path: Path) -> None:
    file = tmp_path / "new" / "chat.db"
    before = os.umask(0)
    try:
        with Store.open(file) as store:
            store.create_session("m")
            modes = {path.name: path.stat().st_mode & 0o777 for path in file.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"chat.db": 0o600, "chat.db-wal": 0o600, "chat.db-shm": 0o600}
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_commits_are_synced_to_the_disk(file: Path) -> None:
    with Store.open(file) as store, store._reading("look") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert connection.execute("PRAGMA busy_timeout").fetchone()[0] == 5000


@pytest.mark.parametrize("name", ["with space.db", "a?b#c%20.db", "日本.db", "'quote\".db"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    session_id = filled(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with Store.open(tmp_path / name, read_only=True) as store:
        assert store.session(session_id).title == "first"


def test_read_only_reads_and_refuses_to_write(file: Path) -> None:
    session_id = filled(file)
    with Store.open(file, read_only=True) as store:
        assert store.search("walrus")[0].session_id == session_id
        with pytest.raises(StoreError, match=r"Cannot rename a session in .*chat\.db: it is read-only"):
            store.rename(session_id, "x")


def test_read_only_makes_no_file(file: Path) -> None:
    with pytest.raises(StoreError, match="There is no database"):
        Store.open(file, read_only=True)
    assert not file.exists()


def test_a_read_only_file_is_refused_at_once(plain_user: Path) -> None:
    file = plain_user / "chat.db"
    filled(file)
    file.chmod(0o400)
    with pytest.raises(StoreError, match="it is read-only") as caught:
        Store.open(file)
    assert "writable" in caught.value.hint


def test_a_read_only_folder_is_refused_but_can_be_read(plain_user: Path) -> None:
    file = plain_user / "chat.db"
    session_id = filled(file)
    plain_user.chmod(0o500)
    with pytest.raises(StoreError, match=r"chat\.db"):
        Store.open(file)
    with pytest.raises(StoreError, match="Permission denied"):
        Store.open(plain_user / "other.db")
    with pytest.raises(StoreError, match="Permission denied"):
        Store.open(plain_user / "sub" / "other.db")
    with Store.open(file, read_only=True) as store:
        assert [message.text for message in store.children(None, session_id)] == ["hello walrus"]


@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_no_database_is_left_alone(file: Path, read_only: bool) -> None:
    content = b"Dear diary, " * 500
    file.write_bytes(content)
    with pytest.raises(StoreError, match="not an SQLite database"):
        Store.open(file, read_only=read_only)
    assert file.read_bytes() == content


@pytest.mark.parametrize("read_only", [False, True])
def test_another_programs_database_is_left_alone(file: Path, read_only: bool) -> None:
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE sessions (id)")
    other.close()
    content = file.read_bytes()
    with pytest.raises(StoreError, match="not a chatkv database"):
        Store.open(file, read_only=read_only)
    assert file.read_bytes() == content


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_schema_is_refused_and_left_alone(file: Path, read_only: bool) -> None:
    filled(file)
    newer = sqlite3.connect(file)
    newer.execute(f"PRAGMA user_version = {database.VERSION + 1}")
    newer.close()
    content = file.read_bytes()
    with pytest.raises(StoreError, match="newer chatkv") as caught:
        Store.open(file, read_only=read_only)
    assert "Update chatkv" in caught.value.hint
    assert file.read_bytes() == content


def test_an_empty_file_becomes_a_database_unless_it_is_only_to_be_read(file: Path) -> None:
    file.touch()
    with pytest.raises(StoreError, match="lacks tables"):
        Store.open(file, read_only=True)
    assert filled(file)


def test_a_damaged_file_is_said_to_be_damaged(file: Path) -> None:
    session_id = filled(file)
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"), Store.open(file) as store:
        store.session(session_id)


def test_a_folder_and_a_file_for_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        Store.open(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError):
        Store.open(tmp_path / "file" / "chat.db")


def test_a_lock_that_does_not_end_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(file)
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.05)
    other = sqlite3.connect(file, isolation_level=None)
    with Store.open(file) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process is writing"):
            store.create_session("m")
        assert len(store.list_sessions()) == 1
        other.execute("ROLLBACK")
        store.create_session("m")
    other.close()


def test_a_full_disk_loses_nothing_that_was_saved(file: Path) -> None:
    session_id = filled(file)
    with Store.open(file) as store:
        with store._reading("look") as connection:
            (n_pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {n_pages + 2}")
        with pytest.raises(StoreError, match="disk is full"):
            store.add_exchange(session_id, None, "x" * 1_000_000, 1, "m")
        assert [message.text for message in store.children(None, session_id)] == ["hello walrus"]
        store.rename(session_id, "still works")


def test_a_text_beyond_sqlites_limit_is_refused(file: Path) -> None:
    session_id = filled(file)
    with Store.open(file) as store:
        with store._reading("look") as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
        with pytest.raises(StoreError, match="too long"):
            store.add_exchange(session_id, None, "x" * 20_000, 1, "m")


def test_using_a_closed_store_is_a_store_error(file: Path) -> None:
    store = Store.open(file)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.list_sessions()


def test_deleted_words_are_gone_from_the_files(file: Path) -> None:
    with Store.open(file) as store:
        kept, gone = store.create_session("m", "kept"), store.create_session("m", "gone")
        for session, word in ((kept, "walrus"), (gone, "xylophone")):
            for turn in range(1, 30):
                _, answer = store.add_exchange(session.id, None, f"{word} {turn} " * 300, turn, "m")
                store.update_answer(
                    answer.id, text=word, thought=word, ids=(), answer_start=0, status="complete"
                )
        store.add_event(gone.id, "note", {"word": "xylophone"})
        store.delete(gone.id)
        content = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert b"walrus" in content
    assert b"xylophone" not in content


def test_the_version_counts_the_migrations(file: Path) -> None:
    filled(file)
    connection = sqlite3.connect(file)
    names = [row[0] for row in connection.execute("SELECT name FROM _sqlite_migrations ORDER BY id")]
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    assert names == [f"v{number}" for number in range(1, database.VERSION + 1)]
    assert version == database.VERSION


def test_a_migration_that_fails_leaves_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "_V1", (*schema._V1, "CREATE TABLE claims (twice)"))
        with pytest.raises(StoreError, match="already exists"):
            Store.open(file)
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.close()
    assert filled(file)


def test_a_current_file_is_opened_without_heavy_imports(file: Path) -> None:
    filled(file)
    code = (
        "import sys; from pathlib import Path; from chatkv.store import Store\n"
        "Store.open(Path(sys.argv[1])).list_sessions()\n"
        "print(sorted({'torch', 'numpy', 'sqlite_utils', 'psutil', 'click'} & set(sys.modules)))"
    )
    root = str(Path(chatkv.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
