"""What goes out comes back: JSON to the last byte, Markdown to the last character of every message."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatkv.store import Store
from chatkv.transfer import export_sessions, plan_import, write_plan
from chatkv.transfer.columns import SESSION, TABLES
from chatkv.transfer.exporting import OutFormat
from chatkv.transfer.identity import branch_in_use
from transfer.making import ODD, TEXT, filled

FAST = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def exported(store: Store, file: Path, format: OutFormat = "json") -> bytes:
    """All sessions, oldest first."""
    records = sorted(store.list_sessions(1000), key=lambda record: record.id)
    export_sessions(store, records, format, file, lambda _: None, lambda _: None, force=True)
    return file.read_bytes()


def imported(store: Store, file: Path) -> None:
    plan = plan_import([file], store, 5.0)
    assert plan.faults == []
    write_plan(plan, store)


@FAST
@given(data=st.data())
def test_json_out_in_and_out_again_is_the_same_to_the_byte(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with filled(data, folder / "a.db") as store:
            first = exported(store, folder / "a.json")
            originals = {record.id: store.whole(record.id) for record in store.list_sessions(100)}
        first.decode()
        with Store.open(folder / "b.db") as store:
            imported(store, folder / "a.json")
            assert exported(store, folder / "b.json") == first
            assert {record.id: store.whole(record.id) for record in store.list_sessions(100)} == originals
            again = plan_import([folder / "a.json"], store, 5.0)
            assert [arrival.outcome for arrival in again.arrivals] == ["unchanged"] * len(originals)
            assert (again.wholes, again.faults) == ([], [])


@FAST
@given(data=st.data())
def test_json_into_a_database_whose_ids_are_taken_says_the_same(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with filled(data, folder / "a.db") as store:
            exported(store, folder / "a.json")
            originals = [store.whole(record.id) for record in store.list_sessions(100)]
        with filled(data, folder / "b.db", n_sessions=1) as store:
            before = {record.id: store.whole(record.id) for record in store.list_sessions(100)}
            imported(store, folder / "a.json")
            again = plan_import([folder / "a.json"], store, 5.0)
            assert {arrival.outcome for arrival in again.arrivals} == {"unchanged"}
            assert all(store.whole(session_id) == whole for session_id, whole in before.items())
            for whole in originals:
                here = store.whole(whole.session["id"])
                assert [row["text"] for row in branch_in_use(here)] == [
                    row["text"] for row in branch_in_use(whole)
                ]


def test_what_is_checked_of_a_file_is_what_the_tables_hold(tmp_path: Path) -> None:
    Store.open(tmp_path / "a.db").close()
    connection = sqlite3.connect(tmp_path / "a.db")
    for table, columns in {"sessions": SESSION, **TABLES}.items():
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        assert there - {"session_id"} == set(columns), table
    connection.close()


TALK = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=4)


@FAST
@given(talk=TALK, system=st.one_of(st.none(), TEXT), title=TEXT, crlf=st.booleans())
def test_markdown_comes_back_as_the_same_texts_and_roles(
    talk: list[tuple[str, str, str]], system: str | None, title: str, crlf: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store.open(folder / "a.db") as store:
            record = store.create_session("org/model", title, system)
            leaf = None
            for turn, (asked, thought, answered) in enumerate(talk, start=1):
                user = store.add_message(record.id, leaf, "user", asked, turn=turn)
                answer = store.add_message(
                    record.id, user.id, "assistant", answered, turn=turn, thought=thought
                )
                store.add_summary(record.id, answer.id, asked, origin="model")
                leaf = answer.id
            store.add_document(record.id, title, "text", ["text"])
            raw = exported(store, folder / "a.md", "markdown")
            whole = store.whole(record.id)
        if crlf:  # as an editor or a version control system may leave it
            (folder / "a.md").write_bytes(raw.replace(b"\n", b"\r\n"))
        with Store.open(folder / "b.db") as store:
            plan = plan_import([folder / "a.md"], store, 5.0)
            assert plan.faults == []
            write_plan(plan, store)
            here = store.whole(record.id)
        said = [
            [(row["role"], row["text"], row["thought"], row["turn"]) for row in each.messages]
            for each in (whole, here)
        ]
        assert said[0] == said[1]
        assert here.session["system"] == system
        assert title.strip() in ("", here.session["title"])
        assert here.session["model"] == "org/model"
        assert [row["ids"] for row in here.messages] == [()] * len(here.messages)


def test_markdown_is_for_reading(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db", clock=lambda: 1_700_000_000.5) as store:
        record = store.create_session("org/model", "Boats", "Be brief.")
        store.add_document(record.id, "harbour.txt", "x" * 1500, ["x"])
        user = store.add_message(record.id, None, "user", "How many?", turn=1)
        store.add_message(record.id, user.id, "assistant", "Ni", turn=1, status="stopped")
        answer = store.add_message(record.id, user.id, "assistant", "Nine **boats**.", turn=1)
        store.add_summary(record.id, answer.id, "Nine boats.", origin="model")
        store.pin(record.id, user.id)
        said: list[str] = []
        export_sessions(store, [record], "markdown", tmp_path / "a.md", lambda _: None, said.append)
    text = (tmp_path / "a.md").read_text(encoding="utf-8")
    shown = [line for line in text.splitlines() if line and not line.startswith("<!--")]
    assert shown == [
        "# Boats",
        f"- Session: {record.id}",
        "- Model: org/model",
        "- Started: 2023-11-14 22:13:20.500000 UTC",
        "- Last used: 2023-11-14 22:13:20.500000 UTC",
        "- Document: harbour.txt (1,500 characters)",
        "## System",
        "Be brief.",
        "## You (pinned)",
        "How many?",
        "## Assistant",
        "Nine **boats**.",
        "## Summary of all up to here",
        "Nine boats.",
    ]
    assert "1 messages of other branches" in said[0]
    assert "1 texts of documents" in said[0]


def test_odd_strings_are_told_in_plain_utf8_json(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        record = store.create_session("m")
        for text in ODD:
            store.add_message(record.id, None, "user", text, turn=1)
        raw = exported(store, tmp_path / "a.json")
    rows = json.loads(raw.decode())["sessions"][0]["messages"]
    texts = ["".join(row["text"]["pieces"]) if isinstance(row["text"], dict) else row["text"] for row in rows]
    assert texts == ODD
    assert not any(ord(c) < 32 and c != "\n" for c in raw.decode())
