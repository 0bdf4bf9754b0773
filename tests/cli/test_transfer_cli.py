"""`chatkv sessions export`, `import` and the marks of `search`, as a person types them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from processes import Run
from transfer.foreign import SHAREGPT, boats, written

from chatkv.store import Store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "chatkv.db"


@pytest.fixture
def sessions(database: Path) -> list[str]:
    ids = []
    with Store.open(database) as store:
        for n in range(2):
            record = store.create_session("m", f"Talk {n}: a/b", "Be kind.")
            user = store.add_message(record.id, None, "user", f"Hello walrus {n}\x1b[31m", turn=1)
            store.add_message(record.id, user.id, "assistant", "Hi", turn=1, ids=(1, 2))
            ids.append(record.id)
    return ids


def test_one_session_to_stdout_and_back_in(run: Run, sessions: list[str], tmp_path: Path) -> None:
    done = run("sessions", "export", "last")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["sessions"][0]["session"]["id"] == sessions[1]
    (tmp_path / "x.json").write_text(done.stdout, encoding="utf-8")
    other = ("--db", str(tmp_path / "other.db"))
    took = run(*other, "sessions", "import", str(tmp_path / "x.json"))
    assert took.returncode == 0, took.stderr
    assert sessions[1] in took.stdout
    assert run(*other, "sessions", "export", "--all").stdout == done.stdout
    again = run(*other, "sessions", "import", str(tmp_path / "x.json"))
    assert (again.returncode, again.stderr) == (0, "")
    assert "unchanged" in again.stdout


def test_files_and_folders(run: Run, sessions: list[str], tmp_path: Path) -> None:
    file, folder = tmp_path / "all.json", tmp_path / "out"
    assert run("sessions", "export", "--all", "-o", str(file)).returncode == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(json.loads(file.read_text(encoding="utf-8"))["sessions"]) == 2
    refused = run("sessions", "export", "--all", "-o", str(file))
    assert refused.returncode == 2
    assert "already there" in refused.stderr
    assert run("sessions", "export", "--all", "-o", str(file), "--force").returncode == 0
    done = run("sessions", "export", *sessions, "--format", "markdown", "-o", f"{folder}/")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"{session_id}-talk-{n}-a-b.md" for n, session_id in enumerate(sessions)]
    took = run("sessions", "import", *(str(folder / name) for name in names))
    assert took.stdout.count("unchanged") == 2
    assert run("sessions", "export", sessions[0], "-o", str(tmp_path / "one.md")).returncode == 0
    assert (
        (tmp_path / "one.md")
        .read_text(encoding="utf-8")
        .startswith("<!-- chatkv conversation 1 -->\n# Talk 0")
    )


def test_what_makes_no_sense_is_refused(run: Run, sessions: list[str]) -> None:
    for arguments in (["export"], ["export", "--all", sessions[0]], ["export", "zzzz"], ["import"]):
        done = run("sessions", *arguments)
        assert done.returncode == 2, arguments
        assert "Traceback" not in done.stderr


def test_import_from_elsewhere_takes_the_good_and_names_the_bad(
    run: Run, database: Path, tmp_path: Path
) -> None:
    good, bad = written(tmp_path / "c.json", [boats(), 7]), tmp_path / "p.png"
    bad.write_bytes(b"\x89PNG")
    arguments = ("sessions", "import", str(good), str(bad), str(tmp_path))
    dry = run(*arguments, "--dry-run")
    assert dry.returncode == 0
    assert "1 conversation would be imported" in dry.stderr
    assert not database.exists()
    stopped = run(*arguments, "--on-error", "stop")
    assert stopped.returncode == 2
    assert "Nothing was imported: 3 problems" in stopped.stderr
    assert stopped.stdout == ""
    assert run("sessions").stdout == ""
    done = run(*arguments)
    assert done.returncode == 0
    assert "Boats" in done.stdout
    for words in (f"{good}: [1]: expected an object", "byte 0 is not UTF-8", "is a folder"):
        assert words in done.stderr
    assert "Traceback" not in done.stderr
    nothing = run("sessions", "import", str(bad))
    assert nothing.returncode == 2
    shown = json.loads(run("sessions", "show", "last", "--json").stdout)
    assert [message["text"] for message in shown["messages"]][:2] == ["How many boats?", "Nine."]


def test_the_report_as_json(run: Run, tmp_path: Path) -> None:
    done = run("sessions", "import", str(written(tmp_path / "s.json", [*SHAREGPT, 5])), "--json")
    report = json.loads(done.stdout)
    assert [item["outcome"] for item in report["conversations"]] == ["new", "new"]
    assert report["faults"][0]["place"] == "[2]"
    assert (report["dry_run"], report["stopped"]) == (False, False)


def test_an_imported_conversation_is_answered(run: Run, tmp_path: Path) -> None:
    run("sessions", "import", str(written(tmp_path / "c.json", [boats()])))
    done = run("ask", "--session", "last", "And now?", "--json", "-n", "4")
    assert done.returncode == 0, done.stderr
    shown = json.loads(run("sessions", "show", "last", "--json").stdout)
    assert [message["turn"] for message in shown["messages"]] == [1, 1, 2, 2, 3, 3]


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_matches_are_marked_on_a_terminal_and_only_there(
    run: Run, sessions: list[str], environment: dict[str, str]
) -> None:
    import pty

    piped = run("sessions", "search", "walrus")
    assert "walrus" in piped.stdout
    assert "\x1b" not in piped.stdout
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "chatkv", "sessions", "search", "walrus"]
    with subprocess.Popen(command, stdout=theirs, stdin=subprocess.DEVNULL, env=environment) as process:
        process.wait(timeout=60)
        os.close(theirs)
        shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert shown.count("\x1b[1m\x1b[7mwalrus\x1b[0m") == 2
    assert "[31m" in shown
    assert "\x1b[31m" not in shown
