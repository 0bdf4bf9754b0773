"""What stands for turns that went, and what may not go: kept, taken back, deleted with the words, migrated to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlite_utils
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.errors import StoreError, UsageError
from chatkv.store import SessionRecord, Store, SummaryRecord, database, schema
from chatkv.store.values import encode

OLD_SESSION = ("s1", "old title", "m", "be kind", 2, 5.0, 6.0)
OLD_MESSAGES: list[tuple[Any, ...]] = [
    (1, "s1", None, "user", "naïve 日本", "", b"", 0, "complete", 1, "m", 5.0),
    (2, "s1", 1, "assistant", "answer", "hm", encode((7, 300_000)), 1, "length", 1, "m", 5.5),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "chat.db"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with Store.open(file) as store:
        yield store


def session_with(store: Store, n_turns: int = 3, **more: str) -> tuple[SessionRecord, list[int]]:
    """A session of `n_turns`; the ids of its messages in order."""
    record = store.create_session("m", "title", **more)
    ids: list[int] = []
    for turn in range(1, n_turns + 1):
        user, answer = store.add_exchange(record.id, ids[-1] if ids else None, f"question {turn}", turn, "m")
        store.update_answer(
            answer.id, text=f"answer {turn}", thought="", ids=(turn,), answer_start=0, status="complete"
        )
        ids += [user.id, answer.id]
    return store.session(record.id), ids


def test_summaries_come_back_as_they_were_newest_last(store: Store) -> None:
    record, ids = session_with(store)
    other, other_ids = session_with(store)
    first = store.add_summary(record.id, ids[1], "one «é»", origin="model")
    second = store.add_summary(
        record.id, ids[3], "two\nlines", origin="edited", edited="lines", kept=(ids[0],)
    )
    store.add_summary(other.id, other_ids[1], "other", origin="none")
    assert store.summaries(record.id) == [first, second]
    assert (second.upto_id, second.kept, second.edited) == (ids[3], (ids[0],), "lines")
    assert [summary.text for summary in store.summaries(other.id)] == ["other"]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(acts=st.lists(st.one_of(st.just(-1), st.integers(0, 9)), max_size=8))
def test_undone_summaries_are_gone_and_the_others_stand(
    acts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("undo") / "chat.db"
    with Store.open(file) as store:
        record, ids = session_with(store, 1)
        standing = list[SummaryRecord]()
        for act in acts:
            if act < 0:
                standing.append(store.add_summary(record.id, ids[1], f"{len(standing)}", origin="model"))
            elif standing:
                store.undo_summary(standing.pop(act % len(standing)).id)
            assert store.summaries(record.id) == standing
    with Store.open(file) as store:
        assert store.summaries(record.id) == standing


def test_what_belongs_to_no_message_of_the_session_is_refused(store: Store) -> None:
    record, _ = session_with(store)
    _, others = session_with(store)
    for message_id in (others[0], 999):
        with pytest.raises(UsageError, match=f"no message {message_id}"):
            store.add_summary(record.id, message_id, "x", origin="model")
        with pytest.raises(UsageError, match=f"no message {message_id}"):
            store.pin(record.id, message_id)
    for missing in (lambda: store.pin("nosuch", 1), lambda: store.add_document("nosuch", "n", "t", ["t"])):
        with pytest.raises(UsageError, match="no session"):
            missing()
    assert store.summaries(record.id) == []
    assert store.pins(record.id) == frozenset()


def test_pins_are_set_once_and_let_go(store: Store) -> None:
    record, ids = session_with(store)
    store.pin(record.id, ids[0])
    store.pin(record.id, ids[0])
    store.pin(record.id, ids[4])
    assert store.pins(record.id) == {ids[0], ids[4]}
    store.unpin(record.id, ids[0])
    store.unpin(record.id, ids[0])
    assert store.pins(record.id) == {ids[4]}


def test_documents_and_their_passages_keep_order_and_belong_to_one_session(store: Store) -> None:
    record, _ = session_with(store)
    other, _ = session_with(store)
    first = store.add_document(record.id, "näme", "one two three", ["one", "two three"])
    second = store.add_document(record.id, "b", "four", ["four"])
    store.add_document(other.id, "c", "five", ["five"])
    assert store.documents(record.id) == [first, second]
    assert (first.n_chars, first.n_passages) == (13, 2)
    passages = store.passages(record.id)
    assert [(p.document_id, p.name, p.text) for p in passages] == [
        (first.id, "näme", "one"),
        (first.id, "näme", "two three"),
        (second.id, "b", "four"),
    ]


def test_what_was_recalled_stands_beside_the_message_and_not_in_its_text(store: Store) -> None:
    _, ids = session_with(store)
    store.set_recalled(ids[2], "earlier: 日本")
    asked = store.message(ids[2])
    assert (asked.text, asked.recalled) == ("question 2", "earlier: 日本")
    assert [message.recalled for message in store.path(ids[5])].count("") == 5
    assert store.search("earlier") == []


def test_carried_sessions_are_linked_both_ways(store: Store) -> None:
    record, _ = session_with(store)
    children = [session_with(store, carried_from=record.id)[0] for _ in range(2)]
    assert {child.carried_from for child in children} == {record.id}
    assert {child.id for child in store.carried_into(record.id)} == {child.id for child in children}
    store.delete(record.id)
    assert [store.session(child.id).carried_from for child in children] == [None, None]
    assert store.carried_into(record.id) == []


def test_deleting_a_session_overwrites_all_that_was_remembered_of_it(file: Path) -> None:
    with Store.open(file) as store:
        kept, kept_ids = session_with(store)
        gone, ids = session_with(store)
        for record, message_id, word in ((kept, kept_ids[0], "walrus"), (gone, ids[0], "xylophone")):
            store.add_summary(
                record.id, message_id, f"{word} summary", origin="edited", edited=f"{word} mine"
            )
            undone = store.add_summary(record.id, message_id, f"{word} undone", origin="model")
            store.undo_summary(undone.id)
            store.pin(record.id, message_id)
            store.add_document(record.id, f"{word} name", f"{word} text " * 900, [f"{word} passage"] * 40)
            store.set_recalled(message_id, f"{word} recalled")
        store.delete(gone.id)
        with pytest.raises(UsageError):
            store.session(gone.id)
        assert store.summaries(gone.id) == []
        assert store.documents(gone.id) == []
        assert store.passages(gone.id) == []
        assert store.pins(gone.id) == frozenset()
        assert len(store.passages(kept.id)) == 40
        assert store.pins(kept.id) == {kept_ids[0]}
        content = b"".join(path.read_bytes() for path in file.parent.iterdir())
    for what in (b"summary", b"mine", b"undone", b"name", b"text", b"passage", b"recalled"):
        assert b"walrus " + what in content
    assert b"xylophone" not in content


def earliest(file: Path) -> None:
    """A database as the first version wrote it, with one session in it."""
    db = sqlite_utils.Database(file)
    schema.migrations.apply(db, stop_before="v2")
    db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", OLD_SESSION)
    for row in OLD_MESSAGES:
        db.execute(f"INSERT INTO messages VALUES ({', '.join('?' * len(row))})", row)
        db.execute("INSERT INTO message_search (rowid, text) VALUES (?, ?)", (row[0], row[4]))
    db.execute(f"PRAGMA application_id = {database.APPLICATION_ID}")
    db.execute("PRAGMA user_version = 1")
    db.conn.commit()
    db.close()


def test_a_database_of_the_first_version_gains_memory_and_loses_nothing(file: Path) -> None:
    earliest(file)
    with pytest.raises(StoreError, match="lacks tables"):
        Store.open(file, read_only=True)
    with Store.open(file) as store:
        record = store.session("s1")
        assert (record.title, record.system, record.leaf_id) == ("old title", "be kind", 2)
        assert (record.n_messages, record.carried_from) == (2, None)
        question, answer = store.path(record.leaf_id)
        assert (question.text, question.recalled) == ("naïve 日本", "")
        assert (answer.ids, answer.thought, answer.status) == ((7, 300_000), "hm", "length")
        assert (store.summaries("s1"), store.documents("s1")) == ([], [])
        assert [hit.message_id for hit in store.search("naive")] == [1]
        summary = store.add_summary("s1", 2, "so far", origin="model")
        store.pin("s1", 1)
        store.set_recalled(1, "found")
    with Store.open(file, read_only=True) as store:
        assert store.summaries("s1") == [summary]
        assert store.pins("s1") == {1}
        assert store.message(1).recalled == "found"
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA user_version").fetchone() == (database.VERSION,)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def test_a_migration_that_fails_leaves_the_first_version_as_it_was(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earliest(file)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "_V2", (*schema._V2, "CREATE TABLE pins (twice)"))
        with pytest.raises(StoreError, match="already exists"):
            Store.open(file)
    connection = sqlite3.connect(file)
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()
    assert {"sessions", "messages"} <= tables
    assert {"summaries", "pins", "documents"}.isdisjoint(tables)
    with Store.open(file) as store:
        assert store.session("s1").n_messages == 2
