"""`chatkv cache`: what is shown, checked and cleared is what is there; a session goes on from another process's KV."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from processes import Run, forked

LONG = "the quick brown fox jumps over the lazy dog and " * 6


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Path:
    """A home with one session of two turns, whose KV is on disk."""
    home = tmp_path_factory.mktemp("made")
    settings = {"CHATKV_HOME": str(home), "CHATKV_MODEL": str(tiny_folder), "CHATKV_LOAD_THREADS": "1"}
    for words, more in ((LONG, []), ("again " + LONG, ["--session", "last"])):
        forked({**os.environ, **settings}, "ask", words, "-n", "5", *more).check_returncode()
    return home


@pytest.fixture
def folder(made: Path, environment: dict[str, str]) -> Path:
    """Where the blocks are, in a home of the test's own."""
    home = Path(environment["CHATKV_HOME"])
    shutil.copytree(made, home)
    return home / "chatkv.db-kv"


def said(run: Run, *arguments: str) -> dict[str, Any]:
    done = run("cache", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def test_show_says_what_is_kept(run: Run, folder: Path) -> None:
    shown = said(run, "show")
    assert shown["folder"] == str(folder)
    assert shown["blocks"] == len(list(folder.iterdir())) > 2
    assert shown["bytes"] == sum(file.stat().st_size for file in folder.iterdir()) < shown["limit_bytes"]
    (session,) = shown["sessions"]
    assert session["blocks"] == shown["blocks"]
    words = run("cache").stdout
    assert "store.kv" in words
    assert session["id"] in words


def test_verify_deletes_what_is_damaged_and_what_is_stray(run: Run, folder: Path) -> None:
    one, two, *_ = sorted(folder.iterdir())
    one.write_bytes(one.read_bytes()[:-1] + b"x")
    two.unlink()
    stray = folder / "left.123.tmp"
    stray.write_bytes(b"half")
    os.utime(stray, (1, 1))
    checked = said(run, "verify")
    assert set(checked["damaged"]) == {one.stem, two.stem}
    assert checked["strays"] == 1
    assert not stray.exists()
    again = said(run, "verify")
    assert (again["damaged"], again["strays"]) == ([], 0)
    assert said(run, "show")["blocks"] == again["blocks"] == len(list(folder.iterdir()))
    assert run("ask", "and now?", "-n", "5", "--session", "last").returncode == 0


def test_a_file_that_is_being_written_is_left_alone(run: Run, folder: Path) -> None:
    (folder / "now.123.tmp").write_bytes(b"half")
    assert said(run, "prune")["strays"] == 0
    assert (folder / "now.123.tmp").exists()


def test_prune_all_clears_everything_but_the_conversations(run: Run, folder: Path) -> None:
    pruned = said(run, "prune", "--all")
    assert pruned["bytes"] == 0 < pruned["freed_bytes"]
    assert list(folder.iterdir()) == []
    assert len(json.loads(run("sessions", "show", "last", "--json").stdout)["messages"]) == 4


def test_prune_keeps_to_the_limit(run: Run, folder: Path) -> None:
    limit = max(file.stat().st_size for file in folder.iterdir())
    done = run("--set", f"store.kv={limit} B", "cache", "prune", "--json")
    assert json.loads(done.stdout)["bytes"] <= limit
    assert sum(file.stat().st_size for file in folder.iterdir()) <= limit


def test_deleting_the_session_deletes_its_files(run: Run, folder: Path) -> None:
    assert run("sessions", "delete", "last", "--yes").returncode == 0
    assert list(folder.iterdir()) == []
    assert said(run, "show")["sessions"] == []


def test_a_size_that_is_none_is_refused(run: Run) -> None:
    done = run("--set", "store.kv=lots", "cache")
    assert done.returncode == 2
    assert "store.kv = 'lots' is not a size. Write \"512 MiB\"" in done.stderr.replace("\n        ", " ")
