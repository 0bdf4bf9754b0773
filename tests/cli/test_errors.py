"""Whatever is wrong outside, the command line says so in a line, with what to do and the right exit code."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from processes import Run


def refused(done: object, code: int, *words: str) -> None:
    assert getattr(done, "returncode") == code, done  # noqa: B009
    text = getattr(done, "stderr")  # noqa: B009
    assert "Traceback" not in text
    for word in words:
        assert word in text, text


def test_models_that_cannot_be_loaded(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    refused(run("-m", "./no/such/folder", "ask", "x"), 3, "no/such/folder")
    refused(run("-m", "someone/unknown-model", "ask", "x"), 3, "someone/unknown-model")
    cut = tmp_path / "cut"
    cut.mkdir()
    for file in tiny_folder.iterdir():
        (cut / file.name).write_bytes(file.read_bytes())
    weights = cut / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    refused(run("-m", str(cut), "ask", "x"), 3, "model.safetensors")


def test_configuration_that_cannot_be_used(run: Run, environment: dict[str, str]) -> None:
    file = Path(environment["CHATKV_HOME"]) / "config.toml"
    file.parent.mkdir()
    file.write_text("model = starter\n")
    refused(run("config", "show"), 2, str(file), "line 1")
    file.write_text("[sampling]\ntemprature = 1\n")
    refused(run("ask", "x"), 2, "sampling.temprature", "temperature")
    file.write_text("[sampling]\ntop_p = 'high'\n")
    refused(run("ask", "x"), 2, "sampling.top_p", "number")
    file.unlink()
    refused(run("--set", "load.device=cuda:7", "ask", "x"), 2, "cuda:7")
    refused(run("--set", "nonsense", "ask", "x"), 2, "KEY=VALUE")
    refused(run("config", "show", CHATKV_NONSENSE="1"), 2, "CHATKV_NONSENSE")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_database_that_cannot_be_opened(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database\n" * 100)
    refused(run("--db", str(text), "sessions"), 4, str(text))
    assert text.read_text() == "not a database\n" * 100


def test_config_init_show_and_path(run: Run, environment: dict[str, str]) -> None:
    file = Path(environment["CHATKV_HOME"]) / "config.toml"
    assert run("config", "path").stdout.strip() == str(file)
    assert run("config", "init").stdout.strip() == str(file)
    refused(run("config", "init"), 2, "there already")
    assert json.loads(run("config", "show", "--json").stdout)["sampling.max_new_tokens"] == 1024
    assert 'memory.budget = "auto"' in run("config", "show").stdout


def test_sessions_of_another_database(run: Run, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    run("--db", other, "ask", "there", "-n", "2")
    assert run("sessions", "--json").stdout == ""
    assert json.loads(run("--db", other, "sessions", "--json").stdout)["title"] == "there"
    assert "there" in run("--db", other, "sessions", "search", "the").stdout
    run("--db", other, "sessions", "rename", "last", "new", "name")
    assert "new name" in run("--db", other, "sessions").stdout
    refused(run("--db", other, "sessions", "delete", "last"), 2, "nothing was deleted")
    assert run("--db", other, "sessions", "delete", "last", "--yes").returncode == 0
    assert run("--db", other, "sessions", "--json").stdout == ""


def test_doctor_and_bench(run: Run, tmp_path: Path) -> None:
    findings = json.loads(run("doctor", "--json").stdout)["findings"]
    assert findings["device"].startswith("cpu")
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"system": "be kind", "turns": ["hello", "and", "the end"]}))
    rows = [
        json.loads(line)
        for line in run("bench", "turns", "--file", str(script), "--reply", "5", "--json").stdout.splitlines()
    ]
    totals = rows.pop()
    assert [row["turn"] for row in rows] == [1, 2, 3]
    assert [row["reused"] for row in rows] == [0, rows[0]["kv_tokens"], rows[1]["kv_tokens"]]
    assert totals["prefilled"] + totals["decoded"] == rows[-1]["kv_tokens"]
    cold = run(
        "bench", "turns", "--file", str(script), "--reply", "5", "--json", "--cold"
    ).stdout.splitlines()
    assert json.loads(cold[-1])["reused"] == 0
    assert json.loads(cold[-1])["prefilled"] > totals["prefilled"]
    script.write_text("[]")
    refused(run("bench", "turns", "--file", str(script)), 2, "script.json")
