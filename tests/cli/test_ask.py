"""`chatkv ask`, and `chatkv` outside a terminal: one answer or one clear line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

from processes import Run


def test_the_answer_is_data_and_everything_else_is_narration(run: Run) -> None:
    done = run("ask", "hello", "there", "-n", "6", real=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\n")
    assert "\x1b" not in done.stdout + done.stderr
    assert "the answer was cut (length)" in done.stderr


def test_json_holds_the_turn_and_sessions_go_on(run: Run) -> None:
    first = json.loads(run("ask", "hello", "--json", "-n", "6").stdout)
    assert first["finish"] == "length"
    assert first["decoded"] == 6
    assert (first["reused"], first["turn"]) == (0, 1)
    assert first["kv_tokens"] == first["prefilled"] + first["decoded"]
    second = json.loads(run("ask", "and", "--session", "last", "--json", "-n", "6").stdout)
    assert second["session"] == first["session"]
    assert second["turn"] == 2
    prompt = second["reused"] + second["prefilled_early"] + second["prefilled"]
    assert prompt > first["kv_tokens"]  # read from disk or computed again, whichever is faster
    listed = [json.loads(line) for line in run("sessions", "--json").stdout.splitlines()]
    assert [(one["id"], one["title"], one["n_messages"]) for one in listed] == [
        (first["session"], "hello", 4)
    ]
    shown = json.loads(run("sessions", "show", "last", "--json").stdout)
    assert [m["text"] for m in shown["messages"]] == ["hello", first["text"], "and", second["text"]]
    assert [t["decoded"] for t in shown["turns"]] == [6, 6]


def test_stdin_joins_the_prompt(run: Run) -> None:
    run("ask", "sum", "up", "-n", "2", stdin="line one\n\tline two\n")
    shown = json.loads(run("sessions", "show", "last", "--json").stdout)
    assert shown["messages"][0]["text"] == "sum up\n\nline one\n\tline two\n"


def test_piped_into_chatkv_alone_it_answers_once(run: Run) -> None:
    done = run("--set", "sampling.max_new_tokens=4", stdin="hi\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() or done.stdout == "\n"
    assert "\x1b" not in done.stdout


def test_nothing_to_ask_is_one_clear_line(run: Run) -> None:
    for arguments in ((), ("ask",), ("ask", "  ")):
        done = run(*arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert "nothing to ask" in done.stderr
        assert "Traceback" not in done.stderr


def test_output_to_a_file_is_refused_with_what_to_do(environment: dict[str, str], tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "chatkv"],
            stdin=follower,
            stdout=out,
            stderr=subprocess.PIPE,
            env=environment,
            timeout=60,
            check=False,
        )
    os.close(leader)
    os.close(follower)
    assert done.returncode == 2
    assert b"chatkv ask" in done.stderr
    assert (tmp_path / "out").read_bytes() == b""


def test_wrong_session_and_full_context(run: Run) -> None:
    missing = run("ask", "x", "--session", "nosuch")
    assert missing.returncode == 2
    assert "nosuch" in missing.stderr
    full = run("ask", "word " * 3000)
    assert full.returncode == 6
    assert "2,048" in full.stderr
    assert run("sessions", "--json").stdout == ""
