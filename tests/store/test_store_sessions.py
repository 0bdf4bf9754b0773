"""Sessions, turns and events: found, listed, renamed, deleted; what was put in comes back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatkv import protocol
from chatkv.errors import UsageError
from chatkv.store import Store, TurnRecord
from chatkv.store.values import ID_ALPHABET, new_session_id


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with Store.open(tmp_path / "chat.db", clock=clock) as store:
        yield store


def turn_of(session_id: str, number: int) -> TurnRecord:
    return TurnRecord(
        session_id=session_id,
        turn=number,
        user_id=1,
        message_id=2,
        finish="stop",
        reused=10,
        prefilled=20,
        prefilled_early=3,
        decoded=40,
        recalled=0,
        ttft_s=0.25,
        tpot_s=None,
        total_s=1.5,
        kv_used_bytes=2**40,
        kv_reserved_bytes=2**41,
        kv_budget_bytes=2**42,
        kv_tokens=73,
        model="m",
        created_at=5.0,
    )


def test_ids_are_short_and_sort_by_time() -> None:
    times = [0.0, 1.0, 1_700_000_000.0, 1_700_000_000.001, 2_000_000_000.0, 4_000_000_000.0]
    ids = [new_session_id(now) for now in times]
    assert ids == sorted(ids)
    assert all(len(one) == 12 and set(one) <= set(ID_ALPHABET) for one in ids)
    assert len({new_session_id(5.0) for _ in range(100)}) > 90


def test_a_session_comes_back_as_it_was_made(store: Store, clock: Clock) -> None:
    made = store.create_session("org/model", "Title", "Be brief.")
    assert store.session(made.id) == made
    assert (made.created_at, made.updated_at, made.leaf_id, made.n_messages) == (
        clock.now,
        clock.now,
        None,
        0,
    )


def test_the_newest_used_comes_first(store: Store, clock: Clock) -> None:
    names = []
    for title in ("a", "b", "c"):
        clock.now += 10
        names.append(store.create_session("m", title).id)
    clock.now += 10
    store.add_exchange(names[0], None, "hi", 1, "m")
    assert [session.title for session in store.list_sessions()] == ["a", "c", "b"]
    clock.now += 10
    store.rename(names[1], "B")
    assert [session.title for session in store.list_sessions()] == ["a", "c", "B"]
    assert [session.title for session in store.list_sessions(limit=1, offset=1)] == ["c"]
    assert store.resolve("last").title == "a"


def test_an_answer_that_ends_brings_its_session_forward_but_its_flushes_do_not(
    store: Store, clock: Clock
) -> None:
    session = store.create_session("m")
    _, answer = store.add_exchange(session.id, None, "hi", 1, "m")
    clock.now += 10
    store.update_answer(answer.id, text="a", thought="", ids=[1], answer_start=0, status="streaming")
    assert store.session(session.id).updated_at == clock.now - 10
    store.update_answer(answer.id, text="ab", thought="", ids=[1, 2], answer_start=0, status="length")
    assert store.session(session.id).updated_at == clock.now


def test_resolve_takes_an_id_or_its_unique_beginning(store: Store, clock: Clock) -> None:
    first = store.create_session("m", "first")
    clock.now += 1_000_000
    second = store.create_session("m", "second")
    short = next(n for n in range(1, 13) if first.id[:n] != second.id[:n])
    assert store.resolve(first.id) == first
    assert store.resolve(f" {second.id[:short].upper()} ") == second


def test_resolve_names_the_candidates_when_several_fit(store: Store, clock: Clock) -> None:
    made = []
    for number in range(7):
        clock.now += 1
        made.append(store.create_session("m", f"title {number} \x1b[31m"))
    with pytest.raises(UsageError) as caught:
        store.resolve(made[0].id[:3])
    assert f"{made[6].id} 'title 6 \\x1b[31m'" in caught.value.message
    assert "fits 7 sessions" in caught.value.message
    assert "2 more" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "wanted", ["", " ", "%", "_", "zzz", "last2", "\0", "\ud800", "x" * 100_000, "' OR 1=1"]
)
def test_resolve_says_when_none_fits(store: Store, wanted: str) -> None:
    store.create_session("m")
    with pytest.raises(UsageError, match="There is no session") as caught:
        store.resolve(wanted)
    assert len(caught.value.message) < 200


def test_last_of_nothing_is_a_usage_error(store: Store) -> None:
    with pytest.raises(UsageError, match="no sessions yet"):
        store.resolve("last")


@pytest.mark.parametrize("session_id", ["", "nosuchone000", "\ud800"])
def test_what_names_no_session_is_refused(store: Store, session_id: str) -> None:
    for act in (store.session, store.delete, store.recover):
        with pytest.raises(UsageError, match="There is no session"):
            act(session_id)
    with pytest.raises(UsageError, match="There is no session"):
        store.rename(session_id, "x")
    with pytest.raises(UsageError, match="There is no session"):
        store.add_exchange(session_id, None, "x", 1, "m")
    with pytest.raises(UsageError, match="There is no session"):
        store.add_turn(turn_of(session_id, 1))
    with pytest.raises(UsageError, match="There is no session"):
        store.add_event(session_id, "kind", {})
    assert store.turns(session_id) == []
    assert store.events(session_id) == []


def test_turns_and_events_come_back_in_order(store: Store) -> None:
    one, two = store.create_session("m"), store.create_session("m")
    turns = [turn_of(one.id, number) for number in (1, 2, 2)]
    for turn in turns:
        store.add_turn(turn)
    store.add_turn(turn_of(two.id, 9))
    assert store.turns(one.id) == turns
    events = [
        store.add_event(one.id, "prefix_break", {"position": n, "deep": [1, {"x": None}]}) for n in range(3)
    ]
    everywhere = store.add_event(None, "started", {})
    assert store.events(one.id) == events
    assert store.events(None) == [everywhere]


def test_a_turn_keeps_every_field_of_the_protocols() -> None:
    fields = {item.name for item in dataclasses.fields(TurnRecord)}
    expected = {item.name for item in dataclasses.fields(protocol.Turn)}
    assert fields == expected | {"session_id", "total_s", "model", "created_at"}


def test_delete_takes_everything_of_one_session_and_nothing_of_another(store: Store) -> None:
    kept, gone = store.create_session("m", "kept"), store.create_session("m", "gone")
    for session in (kept, gone):
        store.add_exchange(session.id, None, "hi", 1, "m")
        store.add_turn(turn_of(session.id, 1))
        store.add_event(session.id, "kind", {})
        store.claim(session.id, "1:0")
    before = store.session(kept.id)
    store.delete(gone.id)
    assert store.list_sessions() == [before]
    assert (store.turns(gone.id), store.events(gone.id), store.children(None, gone.id)) == ([], [], [])
    assert (len(store.turns(kept.id)), len(store.events(kept.id))) == (1, 1)
    with store._reading("count") as connection:
        for table in ("messages", "turns", "events", "claims"):
            found = connection.execute(f"SELECT DISTINCT session_id FROM {table}").fetchall()
            assert [row["session_id"] for row in found] == [kept.id]


def test_recover_marks_only_what_was_left_streaming(store: Store) -> None:
    one, two = store.create_session("m"), store.create_session("m")
    user, answer = store.add_exchange(one.id, None, "q", 1, "m")
    _, other = store.add_exchange(two.id, None, "q", 1, "m")
    store.update_answer(
        answer.id, text="half an ans", thought="t", ids=[1, 2], answer_start=1, status="streaming"
    )
    assert store.recover(one.id) == 1
    assert store.recover(one.id) == 0
    found = store.message(answer.id)
    assert (found.status, found.text, found.thought, found.ids) == ("partial", "half an ans", "t", (1, 2))
    assert store.message(user.id) == user
    assert store.message(other.id).status == "streaming"
    assert [hit.message_id for hit in store.search("half")] == [answer.id]
