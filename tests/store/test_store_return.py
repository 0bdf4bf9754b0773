"""How sessions come back from memory to their file: ids, other versions, other windows, and a file of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import troubles
from saving import BEGINNING, begun, on_file, steady_of, undisturbed

from chatkv.errors import StoreError, UsageError
from chatkv.store import SteadyStore, Store, steady, this_process


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "_PATIENCE_MS", 20)
    monkeypatch.setattr(steady, "_IMPATIENCE_MS", 20)
    monkeypatch.setattr(steady, "RETRY_S", 3600.0)  # tests say when time has passed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "chat.db"


def test_an_answer_that_runs_is_saved_as_soon_as_it_can_be(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steady, "RETRY_S", 0.0)
    monkeypatch.setattr(steady, "_SHARE", 0)
    talk = begun(file)
    store = steady_of(talk)
    talk.do("say")
    with troubles.locked(file, store):
        talk.do("grow")
        assert store.trouble
    talk.do("grow")
    assert store.trouble == ""
    assert talk.running is not None
    saved = on_file(file, talk.id)["messages"][-1]
    assert (saved["text"], saved["status"]) == (talk.running[1], "streaming")


def test_ids_that_others_took_meanwhile_wait_for_the_end_of_the_answer(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steady, "RETRY_S", 0.0)
    monkeypatch.setattr(steady, "_SHARE", 0)
    talk = begun(file)
    store = steady_of(talk)
    with troubles.locked(file, store):
        talk.do("say")
        talk.do("grow")
    with Store.open(file) as other:
        theirs = other.create_session("m", "another window")
        other.add_exchange(theirs.id, None, "mine is this id", 1, "m")
    talk.do("grow")
    assert store.trouble  # ids are as the session knows them ...
    assert on_file(file, talk.id)["messages"][-1]["status"] == "streaming"  # ... and yet it is saved
    talk.do("end")
    assert store.trouble
    assert store.retry()[talk.id].renumbered
    assert store.trouble == ""
    assert on_file(file, talk.id) == undisturbed(tmp_path, [*BEGINNING, "say", "grow", "grow", "end"])
    with Store.open(file) as other:
        assert [m.text for m in other.path(other.session(theirs.id).leaf_id)] == ["mine is this id", ""]
    store.close()


@pytest.mark.parametrize("kind", ["another process has it", "it went on there"])
def test_what_the_file_has_of_a_session_is_never_replaced_by_something_else(file: Path, kind: str) -> None:
    talk = begun(file)
    store = steady_of(talk)
    with troubles.renamed_and_back(file, store):
        talk.do("say")
        talk.do("end")
        with Store.open(file.with_name("aside.db")) as other:
            if kind == "it went on there":
                other.add_message(talk.id, None, "user", "said elsewhere", turn=1)
            else:
                with other._writing("claim") as connection:
                    connection.execute("UPDATE claims SET owner = ?", (_parent(),))
    before = on_file(file, talk.id)
    old, (new,) = talk.id, store.retry().values()
    assert new.session_id != old
    assert store.trouble == ""
    assert on_file(file, old) == before
    assert len(on_file(file, new.session_id)["messages"]) == 6
    store.close()


def _parent() -> str:
    import psutil

    parent = psutil.Process(os.getppid())
    return f"{parent.pid}:{parent.create_time():.2f}"


def test_several_sessions_may_go_on_in_memory(file: Path) -> None:
    talk = begun(file)
    store = steady_of(talk)
    with Store.open(file) as other:
        quiet = other.create_session("m", "quiet")
        other.add_message(quiet.id, None, "user", "long ago", turn=1)
    with troubles.locked(file, store):
        talk.do("say")
        talk.do("end")
        store.release(talk.id, this_process())
        second = store.create_session("m", "second", carried_from=talk.id)
        store.add_exchange(second.id, None, "hello", 1, "m")
        store.release(second.id, this_process())
        assert store.resolve("last").id == second.id
        assert store.resolve(quiet.id).title == "quiet"  # from the file, which can be read
        assert store.try_claim(quiet.id, this_process()) == 0
        store.add_message(quiet.id, store.session(quiet.id).leaf_id, "user", "and now", turn=2)
        with pytest.raises(UsageError, match="no session"):
            store.resolve("zzzz")
    store.close()
    assert store.rescued is None
    assert len(on_file(file, talk.id)["messages"]) == 6
    with Store.open(file) as after:
        assert after.session(second.id).carried_from == talk.id
        assert [m.text for m in after.path(after.session(quiet.id).leaf_id)] == ["long ago", "and now"]


def test_what_cannot_be_saved_in_the_end_goes_to_a_file_of_its_own(file: Path, tmp_path: Path) -> None:
    talk = begun(file)
    store = steady_of(talk)
    with troubles.locked(file, store):
        talk.do("say")
        talk.do("end")
        store.close()
        store.close()
    assert store.rescued is not None
    assert store.rescued.parent == file.parent
    assert store.rescued.stat().st_mode & 0o777 == 0o600
    assert on_file(store.rescued, talk.id) == undisturbed(tmp_path, [*BEGINNING, "say", "end"])
    assert on_file(file, talk.id) == undisturbed(tmp_path / "b", BEGINNING)


def test_a_log_that_belongs_to_another_file_never_reaches_the_new_one(file: Path) -> None:
    talk = begun(file)
    store = steady_of(talk)
    with troubles.replaced(file, store):
        talk.do("say")
    with Store.open(file) as other:
        assert other._connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert [session.title for session in other.list_sessions()] == ["another one"]
    talk.do("end")
    talk.rest()
    store.close()
    assert len(on_file(file, talk.id)["messages"]) == 6


def test_a_renamed_file_keeps_all_that_was_saved_in_it(file: Path, tmp_path: Path) -> None:
    talk = begun(file)
    with troubles.renamed(file, talk.store):
        talk.do("event")
    assert on_file(file.with_name("aside.db"), talk.id) == undisturbed(tmp_path, BEGINNING)
    talk.store.close()


def test_what_is_asked_wrongly_is_an_error_with_and_without_trouble(file: Path) -> None:
    talk = begun(file)
    store = steady_of(talk)
    for _ in range(2):
        with pytest.raises(UsageError, match="no message 999"):
            store.message(999)
        with pytest.raises(UsageError, match="no session"):
            store.add_event("zzz", "note", {})
        file.unlink(missing_ok=True)
    assert store.trouble
    store.close()


def test_blocks_are_not_kept_while_there_is_trouble(file: Path) -> None:
    talk = begun(file)
    store = steady_of(talk)
    assert store.put_block("a" * 64, "root", "print", [1, 2], b"bytes", talk.id)
    with troubles.locked(file, store):
        talk.do("say")
        assert not store.put_block("b" * 64, "a" * 64, "print", [3], b"more", talk.id)
        assert store.stray_files() == []
    talk.do("end")
    talk.rest()
    assert [block.name for block in store.block_children("root", "print")] == ["a" * 64]
    assert store.stray_files() == []
    store.close()


def test_a_database_that_cannot_be_used_at_the_start_is_an_error(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("not a database " * 100)
    with pytest.raises(StoreError, match="not an SQLite database"):
        SteadyStore.open(file)
