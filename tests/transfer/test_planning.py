"""What becomes of what was read: nothing twice, nothing overwritten, all or nothing where that is wished."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatkv.errors import ChatkvError, StoreError, UsageError
from chatkv.store import Store
from chatkv.transfer import Plan, export_sessions, plan_import, write_plan
from chatkv.transfer.files import write_whole
from transfer.foreign import SHAREGPT, boats, llm_log, written


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "chat.db") as store:
        yield store


def take(store: Store, *files: Path, copy: bool = False) -> Plan:
    plan = plan_import(files, store, 1_800_000_000.0, copy=copy)
    write_plan(plan, store)
    return plan


def outcomes(plan: Plan) -> list[str]:
    return [arrival.outcome for arrival in plan.arrivals]


def test_the_same_export_twice_is_imported_once(store: Store, tmp_path: Path) -> None:
    files = [
        written(tmp_path / "c.json", [boats(), boats()]),
        written(tmp_path / "s.json", SHAREGPT),
        llm_log(tmp_path / "logs.db", newer=False),
    ]
    assert outcomes(take(store, *files)) == ["new", "twice", "new", "new", "new", "new"]
    n_before = len(store.list_sessions(100))
    store.rename(store.resolve("last").id, "renamed here")
    assert outcomes(take(store, *files)) == [
        "unchanged",
        "unchanged",
        "unchanged",
        "unchanged",
        "unchanged",
        "unchanged",
    ]
    assert len(store.list_sessions(100)) == n_before == 5


def test_what_went_on_here_is_not_touched_by_the_old_export(store: Store, tmp_path: Path) -> None:
    file = written(tmp_path / "c.json", [boats()])
    record_id = take(store, file).arrivals[0].session_id
    leaf = store.session(record_id).leaf_id
    store.add_message(record_id, leaf, "user", "and went on here", turn=3)
    before = store.whole(record_id)
    plan = take(store, file)
    assert plan.wholes == []
    assert "--copy" in plan.faults[0].problem
    assert record_id in plan.faults[0].problem
    assert store.whole(record_id) == before
    assert outcomes(take(store, file, copy=True)) == ["copy"]
    assert store.whole(record_id) == before
    assert len(store.list_sessions(10)) == 2


def test_ids_of_what_comes_from_elsewhere_sort_by_time(store: Store, tmp_path: Path) -> None:
    later = {**boats(), "create_time": 1_700_000_500.0, "id": "b", "conversation_id": "b"}
    plan = take(store, written(tmp_path / "c.json", [later, boats()]))
    ids = [arrival.session_id for arrival in plan.arrivals]
    assert ids == sorted(ids, reverse=True)
    assert store.resolve(ids[0][:10]).title == "Boats"


def test_copies_go_on_from_copies(store: Store, tmp_path: Path) -> None:
    first = store.create_session("m", "first").id
    second = store.create_session("m", "second", carried_from=first).id
    records = [store.session(second), store.session(first)]
    export_sessions(store, records, "json", tmp_path / "a.json", print, print)
    for session_id in (first, second):
        store.rename(session_id, "changed")
    assert outcomes(take(store, tmp_path / "a.json", copy=True)) == ["copy", "copy"]
    copies = {record.title: record for record in store.list_sessions(10) if record.title != "changed"}
    assert copies["second"].carried_from == copies["first"].id
    assert store.session(second).carried_from == first


def test_links_survive_in_any_order_and_in_circles(store: Store, tmp_path: Path) -> None:
    with Store.open(tmp_path / "other.db") as other:
        ids = [other.create_session("m", str(n)).id for n in range(4)]
        other._connection.executemany(
            "UPDATE sessions SET carried_from = ? WHERE id = ?",
            [(ids[1], ids[0]), (ids[2], ids[1]), (ids[3], ids[2]), (ids[2], ids[3])],
        )
        records = [other.session(session_id) for session_id in ids]
        export_sessions(other, records, "json", tmp_path / "a.json", print, print)
    take(store, tmp_path / "a.json")
    assert store.session(ids[0]).carried_from == ids[1]
    assert store.session(ids[1]).carried_from == ids[2]
    assert {store.session(session_id).carried_from for session_id in ids[2:]} in (
        {None, ids[2]},
        {None, ids[3]},
    )


def test_a_full_disk_says_how_far_it_came(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [{**boats(), "id": str(n), "conversation_id": str(n), "create_time": 1e9 + n} for n in range(200)]
    plan = plan_import([written(tmp_path / "c.json", many)], store, 0.0)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages + 40}")
    with pytest.raises(StoreError, match=r"the disk is full\. \d+ of 200 conversations were imported"):
        write_plan(plan, store)
    n_here = len(store.list_sessions(1000))
    assert 0 < n_here < 200
    with pytest.raises(StoreError, match="0 of 200"):
        write_plan(dataclasses.replace(plan, wholes=plan.wholes[::-1]), store, at_once=True)
    assert len(store.list_sessions(1000)) == n_here
    store._connection.execute("PRAGMA max_page_count = 1000000")
    assert outcomes(take(store, tmp_path / "c.json")).count("unchanged") == n_here
    assert len(store.list_sessions(1000)) == 200


def test_a_file_is_private_and_whole_or_not_there(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    write_whole(file, ["a", "b"], force=False)
    assert file.read_text() == "ab"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="already there"):
        write_whole(file, ["c"], force=False)

    def failing() -> Iterator[str]:
        yield "half"
        raise StoreError("the source broke")

    with pytest.raises(StoreError):
        write_whole(file, failing(), force=True)
    assert file.read_text() == "ab"
    write_whole(file, ["c"], force=True)
    assert file.read_text() == "c"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="no regular file"):
        write_whole(tmp_path / "pipe", ["x"], force=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", ["x"], force=False)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "x"
    with pytest.raises(ChatkvError, match="Cannot write"):
        write_whole(tmp_path / "nowhere" / "x", ["x"], force=False)
