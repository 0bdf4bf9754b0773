"""The message tree against a plain Python model of it, and exact round trips of what is put in."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chatkv.errors import UsageError
from chatkv.store import MessageRecord, Store

ANY_TEXT = st.text(st.characters(codec=None, categories=None))
"""Every Python string: NUL, lone surrogates, unassigned and private characters, all planes."""


@dataclass
class Model:
    """A session as plain Python: every message with its parent, and the leaf."""

    parents: dict[int, int | None] = field(default_factory=dict)
    records: dict[int, MessageRecord] = field(default_factory=dict)
    leaf: int | None = None

    def path(self, leaf: int | None) -> list[int]:
        ids: list[int] = []
        while leaf is not None:
            ids.insert(0, leaf)
            leaf = self.parents[leaf]
        return ids

    def children(self, parent: int | None) -> list[int]:
        return [child for child, its_parent in self.parents.items() if its_parent == parent]

    def newest_leaf(self, message: int) -> int:
        return max(other for other in self.parents if message in self.path(other))

    def add(self, record: MessageRecord) -> None:
        self.parents[record.id] = record.parent_id
        self.records[record.id] = record
        self.leaf = record.id


class TreeMachine(RuleBasedStateMachine):
    """Random work on several sessions; after each step the store says what the model says."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.now = 1000.0
        self.store = Store.open(Path(self.folder.name) / "chat.db", clock=self.tick)
        self.models: dict[str, Model] = {}

    def tick(self) -> float:
        self.now += 1
        return self.now

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    def pick(self, data: st.DataObject) -> tuple[str, Model]:
        session_id = data.draw(st.sampled_from(list(self.models)))
        return session_id, self.models[session_id]

    @rule()
    def create(self) -> None:
        self.models[self.store.create_session("m").id] = Model()

    @precondition(lambda self: self.models)
    @rule(data=st.data(), text=ANY_TEXT)
    def exchange(self, data: st.DataObject, text: str) -> None:
        session_id, model = self.pick(data)
        parent = data.draw(st.sampled_from([None, *model.parents]))
        user, answer = self.store.add_exchange(session_id, parent, text, len(model.parents) + 1, "m")
        assert (user.text, answer.text, answer.status) == (text, "", "streaming")
        model.add(user)
        model.add(answer)

    @precondition(lambda self: any(model.parents for model in self.models.values()))
    @rule(data=st.data(), text=ANY_TEXT)
    def branch(self, data: st.DataObject, text: str) -> None:
        """A message beside an existing one, as an edit or a second answer makes it."""
        session_id, model = data.draw(
            st.sampled_from([item for item in self.models.items() if item[1].parents])
        )
        beside = model.records[data.draw(st.sampled_from(list(model.records)))]
        model.add(
            self.store.add_message(
                session_id, beside.parent_id, beside.role, text, turn=beside.turn, model="m"
            )
        )

    @precondition(lambda self: any(model.parents for model in self.models.values()))
    @rule(data=st.data(), text=ANY_TEXT, thought=ANY_TEXT, ids=st.lists(st.integers(0, 2**32 - 1)))
    def update(self, data: st.DataObject, text: str, thought: str, ids: list[int]) -> None:
        model = data.draw(st.sampled_from([model for model in self.models.values() if model.parents]))
        record = model.records[data.draw(st.sampled_from(list(model.records)))]
        start = data.draw(st.integers(0, len(ids)))
        if record.role == "user":
            with pytest.raises(UsageError):
                self.store.update_answer(
                    record.id, text=text, thought=thought, ids=ids, answer_start=start, status="complete"
                )
            return
        self.store.update_answer(
            record.id, text=text, thought=thought, ids=ids, answer_start=start, status="stopped"
        )
        model.records[record.id] = replace(
            record, text=text, thought=thought, ids=tuple(ids), answer_start=start, status="stopped"
        )

    @precondition(lambda self: self.models)
    @rule(data=st.data())
    def set_leaf(self, data: st.DataObject) -> None:
        session_id, model = self.pick(data)
        model.leaf = data.draw(st.sampled_from([None, *model.parents]))
        self.store.set_leaf(session_id, model.leaf)

    @precondition(lambda self: len(self.models) > 1)
    @rule(data=st.data())
    def refuse_a_stranger(self, data: st.DataObject) -> None:
        """Neither a leaf nor a parent may come from another session."""
        session_id, _ = self.pick(data)
        strangers = [
            key for other, model in self.models.items() if other != session_id for key in model.parents
        ]
        for stranger in strangers[:2]:
            with pytest.raises(UsageError):
                self.store.set_leaf(session_id, stranger)
            with pytest.raises(UsageError):
                self.store.add_message(session_id, stranger, "user", "x", turn=1)

    @precondition(lambda self: self.models)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        session_id, model = self.pick(data)
        self.store.delete(session_id)
        del self.models[session_id]
        with pytest.raises(UsageError):
            self.store.session(session_id)
        for message_id in model.parents:
            with pytest.raises(UsageError):
                self.store.message(message_id)

    @invariant()
    def sessions_agree(self) -> None:
        listed = {record.id: record for record in self.store.list_sessions()}
        assert set(listed) == set(self.models)
        for session_id, model in self.models.items():
            assert listed[session_id].leaf_id == model.leaf
            assert listed[session_id].n_messages == len(model.parents)
            assert [record.id for record in self.store.path(model.leaf)] == model.path(model.leaf)
            assert [record.id for record in self.store.children(None, session_id)] == model.children(None)

    @invariant()
    def messages_agree(self) -> None:
        for session_id, model in self.models.items():
            for message_id, record in model.records.items():
                assert self.store.message(message_id) == record
                siblings = [other.id for other in self.store.siblings(message_id)]
                assert siblings == model.children(record.parent_id)
                children = [other.id for other in self.store.children(message_id, session_id)]
                assert children == model.children(message_id)
                assert self.store.newest_leaf(message_id).id == model.newest_leaf(message_id)


TestTree = TreeMachine.TestCase
TestTree.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)


def test_any_text_comes_back_exactly(tmp_path: Path) -> None:
    file = tmp_path / "chat.db"
    with Store.open(file) as store, Store.open(file, read_only=True) as reader:

        @settings(deadline=None, max_examples=50)
        @given(
            text=ANY_TEXT,
            title=ANY_TEXT,
            system=st.none() | ANY_TEXT,
            data=st.dictionaries(ANY_TEXT, ANY_TEXT),
        )
        def check(text: str, title: str, system: str | None, data: dict[str, str]) -> None:
            session = store.create_session(text, title, system)
            message = store.add_message(
                session.id, None, "assistant", text, turn=1, thought=title, model=text
            )
            event = store.add_event(session.id, "note", data)
            found = reader.session(session.id)
            assert (found.title, found.system, found.model) == (title, system, text)
            assert reader.message(message.id) == message
            assert reader.events(session.id) == [event]
            assert event.data == data

        check()


AWKWARD = ["", "\0", "a\0b", "\ud800", "\ud83d\ude00", "é", "e\u0301", "a\r\nb\rc", "x" * 1_000_000]


@pytest.mark.parametrize("text", AWKWARD, ids=range(len(AWKWARD)))
def test_awkward_text_comes_back_exactly(tmp_path: Path, text: str) -> None:
    with Store.open(tmp_path / "chat.db") as store:
        user, _ = store.add_exchange(store.create_session("m").id, None, text, 1, "m")
        assert store.message(user.id).text == text


def test_text_is_kept_readable_where_sqlite_can_hold_it_all(tmp_path: Path) -> None:
    with Store.open(tmp_path / "chat.db") as store:
        session = store.create_session("m")
        for text in ("plain 机 é", "cut\0here", "lone \ud800"):
            store.add_message(session.id, None, "user", text, turn=1)
        with store._reading("look") as connection:
            kinds = [row[0] for row in connection.execute("SELECT quote(text) FROM messages ORDER BY id")]
    assert kinds == ["'plain 机 é'", "X'6375740068657265'", "X'6C6F6E6520EDA080'"]


def test_a_branch_deeper_than_sqlite_recurses_is_read_and_deleted(tmp_path: Path) -> None:
    with Store.open(tmp_path / "chat.db") as store:
        session_id, leaf = store.create_session("m").id, None
        ids: list[int] = []
        for turn in range(1, 511):
            user, answer = store.add_exchange(session_id, leaf, "q", turn, "m")
            ids += [user.id, answer.id]
            leaf = answer.id
        assert [message.id for message in store.path(leaf)] == ids
        assert store.newest_leaf(ids[0]).id == leaf
        store.delete(session_id)
        assert store.list_sessions() == []


def test_an_exchange_is_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    with Store.open(tmp_path / "chat.db") as store:
        session = store.create_session("m")
        with pytest.raises(UsageError, match="no message 77"):
            store.add_exchange(session.id, 77, "q", 1, "m")
        assert store.session(session.id) == session
        assert store.children(None, session.id) == []


@pytest.mark.parametrize("message_id", [0, -1, 7, sys.maxsize, 10**30])
def test_an_id_of_nothing_is_refused(tmp_path: Path, message_id: int) -> None:
    with Store.open(tmp_path / "chat.db") as store:
        session = store.create_session("m")
        for look in (store.message, store.path, store.siblings, store.newest_leaf):
            with pytest.raises(UsageError):
                look(message_id)
        with pytest.raises(UsageError):
            store.set_leaf(session.id, message_id)
        with pytest.raises(UsageError):
            store.update_answer(message_id, text="", thought="", ids=(), answer_start=0, status="complete")


def test_ids_are_not_given_out_twice(tmp_path: Path) -> None:
    with Store.open(tmp_path / "chat.db") as store:
        first = store.create_session("m")
        user, _ = store.add_exchange(first.id, None, "old", 1, "m")
        store.delete(first.id)
        again, _ = store.add_exchange(store.create_session("m").id, None, "new", 1, "m")
        assert again.id > user.id
