"""Whole sessions out of a database and into another: exact where ids are free, consistent where they are not."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import examples
from transfer.making import filled

from chatkv.errors import StoreError, UsageError
from chatkv.store import Store, Whole
from chatkv.transfer.identity import same_session


def wholes_of(store: Store) -> dict[str, Whole]:
    return {record.id: store.whole(record.id) for record in store.list_sessions(1000)}


def seen(store: Store, session_id: str) -> list[Any]:
    """A session as the rest of the program sees it, each message by its place in the session's order."""
    whole = store.whole(session_id)
    ranks: dict[int | None, int | None] = {row["id"]: n for n, row in enumerate(whole.messages)}
    record = store.session(session_id)
    path = [] if record.leaf_id is None else store.path(record.leaf_id)
    return [
        [(ranks[m.id], m.text, m.thought, m.ids, m.status, m.recalled) for m in path],
        [
            (ranks[s.upto_id], [ranks[kept] for kept in s.kept], s.text, s.edited)
            for s in store.summaries(session_id)
        ],
        sorted(str(ranks[pin]) for pin in store.pins(session_id)),
        [(d.name, d.n_chars, d.n_passages) for d in store.documents(session_id)],
        [(p.name, p.text) for p in store.passages(session_id)],
        [
            (ranks.get(t.user_id), ranks.get(t.message_id), t.reused, t.ttft_s)
            for t in store.turns(session_id)
        ],
        [(e.kind, e.data) for e in store.events(session_id)],
        {
            ranks.get(parent): tuple(ranks[c] for c in found)
            for parent, found in store.alternatives(session_id).items()
        },
    ]


@settings(max_examples=examples(10, 20), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_session_is_the_same_wherever_it_goes(data: st.DataObject) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        filled(data, Path(name) / "a.db") as source,
        filled(data, Path(name) / "b.db") as target,
    ):
        before = {session_id: seen(target, session_id) for session_id in wholes_of(target)}
        wholes = wholes_of(source)
        for session_id, whole in wholes.items():
            placed = target.put_whole(whole)
            assert seen(target, session_id) == seen(source, session_id)
            here = target.whole(session_id)
            assert same_session(here, whole)
            moved = {
                a["id"]: b["id"]
                for a, b in zip(whole.messages, here.messages, strict=True)
                if a["id"] != b["id"]
            }
            assert placed.renumbered == moved
            target.put_whole(whole, replace=True)
            assert same_session(target.whole(session_id), whole)
        assert {session_id: seen(target, session_id) for session_id in before} == before


def with_messages(store: Store, n: int, title: str = "t") -> str:
    record = store.create_session("m", title)
    leaf = None
    for turn in range(1, n + 1):
        leaf = store.add_message(record.id, leaf, "user", f"walrus {turn}", turn=turn).id
    return record.id


def test_the_newest_summary_stays_the_newest_where_some_ids_are_taken(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as source, Store.open(tmp_path / "b.db") as target:
        session_id = with_messages(source, 1)
        upto = source.whole(session_id).messages[0]["id"]
        source.add_summary(session_id, upto, "older", origin="model")
        for _ in range(10):
            source.add_summary(session_id, upto, "gone", origin="model")
        source.add_summary(session_id, upto, "newest", origin="model")
        whole = source.whole(session_id)
        whole = dataclasses.replace(whole, summaries=[whole.summaries[0], whole.summaries[-1]])
        other = with_messages(target, 1)
        for _ in range(20):  # takes the older one's id and more, then frees the newest one's
            target.add_summary(other, 1, "theirs", origin="model")
        target._connection.execute("DELETE FROM summaries WHERE id > 5 AND id < 15")
        target.put_whole(whole)
        assert [summary.text for summary in target.summaries(session_id)] == ["older", "newest"]


def test_a_huge_id_does_not_use_up_the_numbers(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        session_id = with_messages(store, 1)
        whole = store.whole(session_id)
        session = {**whole.session, "id": "other", "leaf_id": 2**63 - 1}
        message = {**whole.messages[0], "id": 2**63 - 1, "session_id": "other"}
        placed = store.put_whole(Whole(session, [message]))
        assert placed.renumbered == {2**63 - 1: 2}
        assert store.session("other").leaf_id == 2
        with_messages(store, 1)


def test_an_imported_message_is_found(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as source, Store.open(tmp_path / "b.db") as target:
        with_messages(target, 3, "theirs")
        session_id = with_messages(source, 2)
        target.put_whole(source.whole(session_id))
        hits = target.search("walrus", session_id=session_id)
        assert sorted(hit.message_id for hit in hits) == [
            row["id"] for row in target.whole(session_id).messages
        ]
        target.delete(session_id)
        assert len(target.search("walrus")) == 3


def test_several_are_stored_together_or_not_at_all(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as source, Store.open(tmp_path / "b.db") as target:
        wholes = [source.whole(with_messages(source, 2)) for _ in range(3)]
        target.put_whole(wholes[2])
        with pytest.raises(UsageError, match="already a session"):
            target.put_wholes(wholes)
        assert list(wholes_of(target)) == [wholes[2].session["id"]]
        broken = dataclasses.replace(wholes[1], pins=[{**wholes[1].messages[0], "message_id": 2}])
        with pytest.raises(UsageError, match="refers to row 2"):
            target.put_wholes([wholes[0], broken])
        assert list(wholes_of(target)) == [wholes[2].session["id"]]
        doubled = dataclasses.replace(
            wholes[1], pins=[{"session_id": wholes[1].session["id"], "message_id": 3}] * 2
        )
        with pytest.raises(StoreError):
            target.put_wholes([wholes[0], doubled])
        assert list(wholes_of(target)) == [wholes[2].session["id"]]
        target.put_wholes(wholes[:2])
        assert wholes_of(target).keys() == {whole.session["id"] for whole in wholes}


def test_the_link_to_the_session_before_is_kept_if_that_is_here(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as source, Store.open(tmp_path / "b.db") as target:
        first = with_messages(source, 1)
        second = source.create_session("m", carried_from=first).id
        target.put_whole(source.whole(second))
        assert target.session(second).carried_from is None
        target.delete(second)
        target.put_wholes([source.whole(first), source.whole(second)])
        assert target.session(second).carried_from == first


def test_what_is_read_is_of_one_moment(tmp_path: Path) -> None:
    """Another process adds a message between two of the reads: the session has all of it, or nothing."""
    file = tmp_path / "a.db"
    with Store.open(file) as store, Store.open(file) as other:
        session_id = with_messages(store, 1)
        seen_tables: list[str] = []

        def intrude(statement: str) -> None:
            if statement.startswith("SELECT * FROM") and not seen_tables:
                seen_tables.append(statement)
                other.add_message(session_id, 1, "assistant", "later", turn=1)

        store._connection.set_trace_callback(intrude)
        whole = store.whole(session_id)
        store._connection.set_trace_callback(None)
        assert seen_tables
        assert [row["id"] for row in whole.messages] == [1]
        assert whole.session["leaf_id"] == 1
        assert [row["id"] for row in store.whole(session_id).messages] == [1, 2]
