"""llm's log and ShareGPT's lists, in the shapes that there are."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from chatkv.errors import StoreError
from chatkv.store import Whole
from chatkv.transfer.findings import Findings
from chatkv.transfer.reading import Format, read_file
from transfer.foreign import SHAREGPT, llm_log, written


def said(whole: Whole) -> list[tuple[str, str]]:
    return [(row["role"], row["text"]) for row in whole.messages]


def read(file: Path, wanted: Format | None = None) -> tuple[list[Whole], Findings]:
    found, findings = read_file(file, wanted, 99.0)
    return [one.whole for one in found], findings


# ── llm ──


def test_the_log_of_an_older_llm(tmp_path: Path) -> None:
    (boats, alone), findings = read(llm_log(tmp_path / "logs.db", newer=False))
    assert (findings.faults, findings.notes) == ([], [])
    assert said(boats) == [
        ("user", "Name a boat"),
        ("assistant", "Walrus"),
        ("user", "Another"),
        ("assistant", "Pelican"),
    ]
    session = boats.session
    assert (session["title"], session["system"], session["model"]) == ("Boats", "Be brief.", "gpt-4o")
    assert session["created_at"] == 1_709_287_200.25
    assert session["updated_at"] == 1_709_287_260.0
    assert said(alone) == [("user", "Alone"), ("assistant", "Yes")]
    assert alone.session["model"] == "o3"


def test_the_log_of_a_newer_llm(tmp_path: Path) -> None:
    (boats, alone), findings = read(llm_log(tmp_path / "logs.db", newer=True))
    assert findings.faults == []
    assert said(boats)[-1] == ("assistant", "Pelican\n\n```\n9\n```\n\nNine.")
    assert said(alone) == [
        ("user", "first piece\nsecond piece\nAlone"),
        ("assistant", 'Yes\n\n```\ncount({"what": "boats"})\n```'),
    ]
    assert sorted(note.what for note in findings.notes) == [
        "attachments left out (pictures, sound, files)",
        "table “turns_of_tomorrow”, which holds rows, was not read",
    ]


def test_the_log_is_left_as_it_is_even_where_nothing_can_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    file = llm_log(folder / "logs.db", newer=True)
    before = file.read_bytes()
    read(file)
    assert file.read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["logs.db"]


def test_odd_values_in_a_log_are_faults_or_text(tmp_path: Path) -> None:
    file = llm_log(tmp_path / "logs.db", newer=False)
    connection = sqlite3.connect(file)
    connection.execute("UPDATE responses SET response = x'ff00', datetime_utc = 'yesterday' WHERE id = 'r1'")
    connection.execute("UPDATE responses SET prompt = CAST(x'61ff' AS TEXT) WHERE id = 'r2'")
    connection.commit()
    connection.close()
    wholes, findings = read(file)
    assert [str(fault.place) for fault in findings.faults] == ["response r1.response"]
    assert ("user", "a\udcff") in [row for whole in wholes for row in said(whole)]


@pytest.mark.parametrize("table", ["x", "responses"], ids=["another program's", "a view"])
def test_another_database_is_refused(table: str, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("CREATE TABLE x (id TEXT)")
    if table == "responses":
        connection.execute("CREATE VIEW responses AS SELECT * FROM x")
    connection.close()
    with pytest.raises(StoreError, match="no log of llm"):
        read(tmp_path / "x.db")


def test_a_damaged_log_is_a_clear_error(tmp_path: Path) -> None:
    file = llm_log(tmp_path / "logs.db", newer=True)
    raw = bytearray(file.read_bytes())
    raw[4096:] = b"\x07" * (len(raw) - 4096)
    file.write_bytes(raw)
    with pytest.raises(StoreError, match="damaged"):
        read(file)


# ── ShareGPT ──


def test_both_shapes_of_lists(tmp_path: Path) -> None:
    wholes, findings = read(written(tmp_path / "s.json", SHAREGPT))
    assert findings.faults == []
    assert [said(whole) for whole in wholes] == [
        [("user", "Hello"), ("assistant", "Hi!")],
        [("user", "What is 2+2?"), ("assistant", "4")],
    ]
    assert [whole.session["system"] for whole in wholes] == ["Be kind.", None]
    assert [whole.session["title"] for whole in wholes] == ["Hello", "What is 2+2?"]
    assert {whole.session["model"] for whole in wholes} == {"imported"}


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\n\n"])
def test_json_lines_and_a_fault_on_one_of_them(ending: str, tmp_path: Path) -> None:
    lines = [json.dumps(SHAREGPT[0]), "{oops", json.dumps(SHAREGPT[1]), '{"id": 3}']
    (tmp_path / "s.jsonl").write_bytes(ending.join(lines).encode())
    wholes, findings = read(tmp_path / "s.jsonl")
    assert len(wholes) == 2
    step = len(ending.replace("\r", ""))
    assert [fault.place.strip(": ") for fault in findings.faults] == [
        f"line {1 + step}",
        f"line {1 + 3 * step}",
    ]


@pytest.mark.parametrize(
    ("turns", "texts"),
    [
        ([("gpt", "lead"), ("human", "q")], [("assistant", "lead"), ("user", "q")]),
        (
            [("human", "a"), ("human", "b"), ("gpt", "c"), ("gpt", "d")],
            [("user", "a\n\nb"), ("assistant", "c\n\nd")],
        ),
        ([("USER ", "a"), ("Assistant", "b")], [("user", "a"), ("assistant", "b")]),
        ([("human", "a"), ("tool", "9"), ("gpt", "b")], [("user", "a"), ("assistant", "```\n9\n```\n\nb")]),
        ([("human", "a"), ("system", "s"), ("gpt", "b")], [("user", "a\n\ns"), ("assistant", "b")]),
    ],
)
def test_odd_orders_and_names(
    turns: list[tuple[str, str]], texts: list[tuple[str, str]], tmp_path: Path
) -> None:
    record = {"conversations": [{"from": who, "value": what} for who, what in turns]}
    for data in (record, [record], {"messages": [{"role": who, "content": what} for who, what in turns]}):
        (whole,), findings = read(written(tmp_path / "s.json", data))
        assert said(whole) == texts
        assert findings.faults == []


def test_parts_calls_and_thoughts(tmp_path: Path) -> None:
    call = {"type": "function", "function": {"name": "count", "arguments": '{"a": 1}'}}
    messages = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"},
        {"role": "tool", "content": "9"},
        {"role": "assistant", "content": "Nine."},
    ]
    (whole,), findings = read(written(tmp_path / "s.json", messages))
    assert said(whole) == [
        ("user", "see"),
        ("assistant", '```\ncount({"a": 1})\n```\n\n```\n9\n```\n\nNine.'),
    ]
    assert whole.messages[1]["thought"] == "hm"
    assert (findings.faults, [note.n for note in findings.notes]) == ([], [1])


@pytest.mark.parametrize(
    ("turn", "place"),
    [
        ({"from": "ghost", "value": "x"}, "[0].conversations[1]"),
        ({"from": None, "value": "x"}, "[0].conversations[1]"),
        ({"from": "gpt", "value": None}, "[0].conversations[1].value"),
        ({"from": "gpt", "value": 7}, "[0].conversations[1].value"),
        ({"from": "gpt", "value": [7]}, "[0].conversations[1].value[0]"),
        ("gpt", "[0].conversations[1]"),
    ],
)
def test_a_bad_turn_has_a_place_and_the_rest_is_read(turn: Any, place: str, tmp_path: Path) -> None:
    data = [{"conversations": [{"from": "human", "value": "q"}, turn, {"from": "human", "value": "r"}]}]
    (whole,), findings = read(written(tmp_path / "s.json", data))
    assert [fault.place for fault in findings.faults] == [place]
    assert said(whole)[0][1].startswith("q")
