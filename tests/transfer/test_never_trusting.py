"""Files that are not what they say: each gives a clear error with its place, and none a traceback."""

from __future__ import annotations

import json
import os
import random
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.errors import StoreError, UsageError
from chatkv.store import Store
from chatkv.transfer import Plan, export_sessions, plan_import, write_plan
from chatkv.transfer.reading import FORMATS, Format, read_file
from transfer.foreign import SHAREGPT, boats, llm_log
from transfer.making import TEXT

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def refusal(file: Path, wanted: Format | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        read_file(file, wanted, 0.0)
    return str(caught.value)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "nothing in it but white space"),
        (PNG, "line 1: byte 0 is not UTF-8"),
        (b'[{"mapping": "\xff"}]', "byte 14 is not UTF-8"),
        (b"\n\n\xe9", "line 3: byte 2"),
        (b"\xff\xfe[", "not UTF-16"),
        (b"[]", "empty list"),
        (b"{}", "no format of conversations"),
        (b"3", "no format of conversations"),
        (b'[[["x"]]]', "no format of conversations"),
        (b"PK\x03\x04 and no more", "cannot be unpacked"),
    ],
)
def test_a_wrong_kind_of_file_is_said_to_be_one(raw: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(raw)
    message = refusal(tmp_path / "x")
    assert words in message
    assert str(tmp_path / "x") in message


def test_what_is_no_file_is_said_to_be_none(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)
    assert "No such file" in refusal(tmp_path / "nowhere")
    assert "no regular file" in refusal(Path("/dev/null"))
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in refusal(tmp_path / "pipe")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(5 << 30)
    assert "5.0 GiB" in refusal(tmp_path / "huge.json")


@pytest.mark.parametrize("trouble", ["none in it", "encrypted", "cut", "bomb"])
def test_zips_that_cannot_be_used(trouble: str, tmp_path: Path) -> None:
    file = tmp_path / "x.zip"
    name = "readme.txt" if trouble == "none in it" else "conversations.json"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, json.dumps([boats()]))
    raw = bytearray(file.read_bytes())
    central = raw.rindex(b"PK\x01\x02")
    if trouble == "encrypted":
        raw[6] |= 1
        raw[central + 8] |= 1
    elif trouble == "cut":
        raw[60:200] = bytes(140)
    elif trouble == "bomb":
        raw[central + 24 : central + 28] = (0xFFFFFF00).to_bytes(4, "little")
        raw[22:26] = raw[central + 24 : central + 28]
    file.write_bytes(raw)
    refusal(file)


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ('[{"mapping": {}}, {"mapping"', "line 1, column", "not JSON"),
        ('[\n{"mapping": {},,}]', "line 2, column 16", "not JSON"),
        ("[" * 200_000, "", "nested too deeply"),
        ('[{"mapping": {}, "create_time": ' + "9" * 5000 + "}]", "", "too many digits"),
        ('[{"mapping": {}, "mapping": {}}]', "[0]", "'mapping' stands there twice"),
        ('{"format": "chatkv", "version": 2, "sessions": []}', "version", "Update chatkv"),
        ('{"format": "chatkv", "version": 1, "sessions": {}}', "sessions", "expected a list"),
        ('{"format": "other", "sessions": []}', "format", "expected “chatkv”"),
        ('{"format": "chatkv", "version": 1, "sessions": []}', "", "no conversations"),
        ("just words", "line 1, column 1", "not JSON"),
    ],
)
def test_bad_json_is_a_fault_with_a_place(text: str, place: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    found, findings = read_file(tmp_path / "x.json", None, 0.0)
    assert found == []
    assert place in findings.faults[0].place
    assert problem in findings.faults[0].problem


@pytest.mark.parametrize("told", ["NaN", "1e400", "-5", "1" + "0" * 40, "true", '"soon"', "[]"])
def test_times_that_are_none_are_not_taken(told: str, tmp_path: Path) -> None:
    text = json.dumps([{**boats(), "create_time": "HERE"}]).replace('"HERE"', told)
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    ((found,), findings) = read_file(tmp_path / "x.json", None, 0.0)
    assert findings.faults == []
    assert found.whole.session["created_at"] == 1_700_000_000.5


def test_milliseconds_are_known_for_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([{**boats(), "create_time": 1_700_000_000_250}]))
    ((found,), _) = read_file(tmp_path / "x.json", None, 0.0)
    assert found.whole.session["created_at"] == 1_700_000_000.25


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_byte_order_mark_is_no_part_of_the_text(encoding: str, tmp_path: Path) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "x.json").write_bytes((mark + json.dumps([boats()])).encode(encoding))
    found, _ = read_file(tmp_path / "x.json", None, 0.0)
    assert len(found) == 1


@pytest.mark.parametrize("wanted", FORMATS)
def test_a_format_that_is_not_the_files_is_refused_or_faulted(wanted: Format, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([boats()]))
    if wanted == "llm":
        with pytest.raises(StoreError, match="not an SQLite database"):
            read_file(tmp_path / "x.json", wanted, 0.0)
        return
    found, findings = read_file(tmp_path / "x.json", wanted, 0.0)
    assert (found != []) == (wanted == "chatgpt")
    assert (findings.faults != []) == (wanted != "chatgpt")


# ── random damage ──

SEEDS = st.integers(0, 2**32)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    TEXT,
    st.just([]),
    st.just({}),
    st.lists(st.integers(), max_size=2),
)


def ours(folder: Path) -> Any:
    with Store.open(folder / "o.db") as store:
        record = store.create_session("m", "t", "s")
        user, answer = store.add_exchange(record.id, None, "question", 1, "m")
        store.update_answer(answer.id, text="a", thought="t", ids=(1, 2), answer_start=1, status="complete")
        store.pin(record.id, user.id)
        store.add_summary(record.id, answer.id, "sum", origin="model", kept=(user.id,))
        store.add_document(record.id, "d", "text", ["p", "q"])
        store.add_event(record.id, "error", {"x": 1})
        export_sessions(store, [record], "json", folder / "o.json", print, print, force=True)
        export_sessions(store, [record], "markdown", folder / "o.md", print, print, force=True)
    return json.loads((folder / "o.json").read_text(encoding="utf-8"))


def mutated(value: Any, dice: random.Random, replacement: Any) -> Any:
    """`value` with one random thing in it replaced, removed or doubled."""
    if not isinstance(value, dict | list) or not value or dice.random() < 0.15:
        return replacement
    if isinstance(value, dict):
        key = dice.choice(list(value))
        rest = {name: item for name, item in value.items() if name != key}
        return rest if dice.random() < 0.1 else {**rest, key: mutated(value[key], dice, replacement)}
    n = dice.randrange(len(value))
    if dice.random() < 0.1:
        return [*value, value[n]]
    return [mutated(item, dice, replacement) if m == n else item for m, item in enumerate(value)]


def taken_in(file: Path, folder: Path) -> Plan:
    """Plan and write: whatever was planned breaks no rule of the database, and reads well afterwards."""
    with tempfile.TemporaryDirectory(dir=folder) as name, Store.open(Path(name) / "t.db") as store:
        plan = plan_import([file], store, 1_700_000_000.0)
        write_plan(plan, store)
        for record in store.list_sessions(100):
            store.path(record.leaf_id)
            assert plan_import([file], store, 1_800_000_000.0).wholes == []
    assert plan.arrivals or plan.faults
    return plan


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("valid")
    llm_log(folder / "whole.db", newer=True)
    return {"ours": ours(folder), "chatgpt": [boats()], "sharegpt": SHAREGPT, "folder": folder}


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["ours", "ours", "chatgpt", "sharegpt"]),
    seed=SEEDS,
    values=st.lists(VALUES, min_size=1, max_size=3),
)
def test_random_changes_never_end_in_a_traceback(
    valid: dict[str, Any], kind: str, seed: int, values: list[Any]
) -> None:
    dice, data = random.Random(seed), valid[kind]
    for value in values:
        data = mutated(data, dice, value)
    file = valid["folder"] / "m.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    taken_in(file, valid["folder"])


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(["o.json", "o.md"]), seed=SEEDS, filler=st.binary(max_size=8))
def test_random_bytes_never_end_in_a_traceback(
    valid: dict[str, Any], name: str, seed: int, filler: bytes
) -> None:
    dice = random.Random(seed)
    raw = (valid["folder"] / name).read_bytes()
    low = dice.randrange(len(raw))
    high = min(len(raw), low + dice.choice([0, 1, 5, 200]))
    file = valid["folder"] / "b.json"
    file.write_bytes(raw[:low] + filler + raw[high:])
    taken_in(file, valid["folder"])


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_a_log_with_random_bytes_never_ends_in_a_traceback(valid: dict[str, Any], seed: int) -> None:
    dice = random.Random(seed)
    file = valid["folder"] / "logs.db"
    raw = bytearray((valid["folder"] / "whole.db").read_bytes())
    for _ in range(dice.choice([1, 10, 300])):
        raw[dice.randrange(16, len(raw))] = dice.randrange(256)
    file.write_bytes(raw)
    plan_import([file], None, 0.0)
