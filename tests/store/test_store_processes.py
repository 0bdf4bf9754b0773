"""Several processes on one file: at once, killed in the middle, and never two on one session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import chatkv
from chatkv.errors import StoreError
from chatkv.store import Store, this_process

PREAMBLE = """
import sys
from pathlib import Path
from chatkv.store import Store, this_process

def say(word):
    print(word, flush=True)

def wait():
    assert sys.stdin.readline()

store = Store.open(Path(sys.argv[1]))
"""

STREAM = """
session = store.create_session("m", "talk")
store.claim(session.id, this_process())
user, answer = store.add_exchange(session.id, None, "question", 1, "m")
half = dict(text="half an ans", thought="hm", ids=[1, 2, 3], answer_start=1)
store.update_answer(answer.id, **half, status="streaming")
say(session.id)
wait()
"""

WRITE = """
session = store.create_session("m", sys.argv[2])
leaf = None
say(session.id)
wait()
for turn in range(1, 26):
    user, answer = store.add_exchange(session.id, leaf, f"{sys.argv[2]} asks {turn}", turn, "m")
    text = f"{sys.argv[2]} gets {turn}"
    store.update_answer(answer.id, text=text, thought="", ids=range(turn), answer_start=0, status="complete")
    leaf = answer.id
say("done")
"""


@contextmanager
def child(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A Python process that runs `code`; killed at the end if it still lives."""
    root = str(Path(chatkv.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": root},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "chat.db"


def test_two_processes_write_two_sessions_at_once(file: Path) -> None:
    names = ("ann", "bob")
    with child(PREAMBLE + WRITE, file, "ann") as ann, child(PREAMBLE + WRITE, file, "bob") as bob:
        ids = [heard(process) for process in (ann, bob)]
        tell(ann)
        tell(bob)
        assert [heard(process) for process in (ann, bob)] == ["done", "done"]
        with Store.open(file) as store:
            for name, session_id in zip(names, ids, strict=True):
                texts = [message.text for message in store.path(store.session(session_id).leaf_id)]
                expected = [(f"{name} asks {turn}", f"{name} gets {turn}") for turn in range(1, 26)]
                assert texts == [text for pair in expected for text in pair]


def test_many_processes_may_be_the_first_at_once(file: Path) -> None:
    code = "import sys; print('up', flush=True); sys.stdin.readline()\n" + PREAMBLE + "say('open')"
    with child(code, file) as one, child(code, file) as two, child(code, file) as three:
        everyone = (one, two, three)
        assert [heard(process) for process in everyone] == ["up"] * 3
        for process in everyone:
            tell(process)
        assert [heard(process) for process in everyone] == ["open"] * 3


def test_kill_in_mid_answer_keeps_the_question_and_what_came(file: Path) -> None:
    with child(PREAMBLE + STREAM, file) as writer:
        session_id = heard(writer)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    with Store.open(file) as store:
        store.claim(session_id, this_process())
        assert store.recover(session_id) == 1
        question, answer = store.path(store.session(session_id).leaf_id)
        assert (question.text, question.status) == ("question", "complete")
        assert (answer.text, answer.thought, answer.ids) == ("half an ans", "hm", (1, 2, 3))
        assert (answer.answer_start, answer.status) == (1, "partial")
        assert [message.id for message in store.path(store.resolve("last").leaf_id)] == [
            question.id,
            answer.id,
        ]
        store.add_exchange(session_id, answer.id, "next", 2, "m")


def test_a_living_writer_is_named_and_left_alone(file: Path) -> None:
    with child(PREAMBLE + STREAM, file) as writer, Store.open(file) as store:
        session_id = heard(writer)
        with pytest.raises(StoreError, match=f"pid {writer.pid}") as caught:
            store.claim(session_id, this_process())
        assert caught.value.hint
        store.release(session_id, this_process())
        holder = store.holder(session_id)
        assert holder is not None
        assert holder.startswith(f"{writer.pid}:")
        assert store.recover(session_id) == 0
        assert store.message(2).status == "streaming"


def test_a_killed_writer_is_dead_even_before_its_parent_collects_it(file: Path) -> None:
    with child(PREAMBLE + STREAM, file) as writer, Store.open(file) as store:
        session_id = heard(writer)
        os.kill(writer.pid, signal.SIGKILL)
        os.waitid(os.P_PID, writer.pid, os.WEXITED | os.WNOWAIT)
        assert psutil.pid_exists(writer.pid)
        assert store.holder(session_id) is None
        store.claim(session_id, this_process())
        assert store.holder(session_id) == this_process()


def test_a_claim_can_be_repeated_released_and_taken_again(file: Path) -> None:
    with Store.open(file) as one, Store.open(file) as two:
        session_id = one.create_session("m").id
        one.claim(session_id, this_process())
        one.claim(session_id, this_process())
        one.release(session_id, this_process())
        assert two.holder(session_id) is None
        two.claim(session_id, this_process())


@pytest.mark.parametrize("stale", ["{pid}:1.0", "999999999:1.0", "{pid}:later", "nonsense"])
def test_a_recycled_pid_or_an_unreadable_owner_does_not_count(file: Path, stale: str) -> None:
    with Store.open(file) as store:
        session_id = store.create_session("m").id
        with store._writing("plant a claim") as connection:
            owner = stale.format(pid=os.getpid())
            connection.execute("INSERT INTO claims VALUES (?, ?, 0)", (session_id, owner))
        assert store.holder(session_id) is None
        store.claim(session_id, this_process())
        assert store.holder(session_id) == this_process()


def test_a_process_that_opens_the_file_twice_keeps_its_locks(tmp_path: Path) -> None:
    file = tmp_path / "chatkv.db"
    visitor = f"{PREAMBLE}\nsay(store.create_session('m', sys.argv[2]).id)\nstore.close()\n"

    def visit(title: str) -> str:
        command = [sys.executable, "-c", visitor, str(file), title]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    with Store.open(file) as one, Store.open(file) as other:
        # A visitor that leaves thinks it is the last one here if our locks are gone, and takes the log with it.
        here = {visit("first"), one.create_session("m", "mine").id, visit("second")}
        assert {session.id for session in other.list_sessions()} == here
    with Store.open(file) as store:
        assert {session.id for session in store.list_sessions()} == here
