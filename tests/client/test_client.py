"""The worker client against real child processes that speak the protocol badly, well, or not at all."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from chatkv.client import Death, WorkerClient
from chatkv.errors import WorkerError
from chatkv.protocol import Closed, Event, Notice, Send, Stats

ECHO = """
import json, sys
for line in sys.stdin:
    command = json.loads(line)
    if command["type"] == "close":
        print(json.dumps({"type": "closed"}), flush=True)
        break
    print(json.dumps({"type": "notice", "text": command.get("text", "")}), flush=True)
"""
NOISY = """
import sys
print("not json"); print('{"type": "from_the_future"}'); print('{"type": "notice", "text": "ok"}', flush=True)
sys.stderr.write("first\\nCUDA error: out of memory\\n\\n"); sys.exit(3)
"""
DEAF = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('{"type": "notice", "text": "up"}', flush=True)
while True: time.sleep(60)
"""


def client(script: str, folder: Path) -> WorkerClient:
    return WorkerClient([sys.executable, "-c", script], log_file=folder / "logs" / "worker.log")


async def collect(worker: WorkerClient) -> list[Event | Death]:
    return [event async for event in worker.events()]


async def test_commands_go_out_and_events_come_in_order(tmp_path: Path) -> None:
    worker = client(ECHO, tmp_path)
    await worker.start()
    for text in ("a", "b\n\tc", "é🙂\ud800"):
        await worker.send(Send(text))
    seen = []
    async for event in worker.events():
        seen.append(event)
        if len(seen) == 3:
            break
    await worker.close()
    assert [event.text for event in seen if isinstance(event, Notice)] == ["a", "b\n\tc", "é🙂\ud800"]
    assert not worker.running


async def test_a_line_of_five_megabytes_passes_both_ways(tmp_path: Path) -> None:
    worker = client(ECHO, tmp_path)
    await worker.start()
    text = "0123456789\t\r\n" * 400_000
    await worker.send(Send(text))
    event = await anext(aiter(worker.events()))
    assert isinstance(event, Notice)
    assert event.text == text
    await worker.close()


async def test_death_is_reported_with_code_and_last_line(tmp_path: Path) -> None:
    worker = client(NOISY, tmp_path)
    await worker.start()
    assert await collect(worker) == [Notice("ok"), Death(3, "CUDA error: out of memory")]
    assert not worker.running


async def test_last_words_come_from_this_run_only(tmp_path: Path) -> None:
    first = client(NOISY, tmp_path)
    await first.start()
    await collect(first)
    second = client("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", tmp_path)
    await second.start()
    (death,) = await collect(second)
    assert death == Death(-9, "")
    assert isinstance(death, Death)
    assert death.reason == "SIGKILL"


async def test_sending_to_the_dead_is_an_error_with_a_hint(tmp_path: Path) -> None:
    worker = client("pass", tmp_path)
    with pytest.raises(WorkerError):
        await worker.send(Stats())
    await worker.start()
    await collect(worker)
    with pytest.raises(WorkerError) as caught:
        await worker.send(Stats())
    assert caught.value.hint


async def test_a_program_that_does_not_exist_is_a_worker_error(tmp_path: Path) -> None:
    worker = WorkerClient([str(tmp_path / "nothing")], log_file=tmp_path / "log")
    with pytest.raises(WorkerError, match="Cannot start"):
        await worker.start()


async def test_restart_gives_a_fresh_process(tmp_path: Path) -> None:
    worker = client('import os; print(\'{"type": "notice", "text": "%d"}\' % os.getpid())', tmp_path)
    await worker.start()
    first = (await collect(worker))[0]
    await worker.restart()
    second = (await collect(worker))[0]
    assert isinstance(first, Notice)
    assert isinstance(second, Notice)
    assert first.text != second.text


async def test_close_is_asked_for_and_reported_as_no_death(tmp_path: Path) -> None:
    worker = client(ECHO, tmp_path)
    await worker.start()
    events = worker.events()
    await worker.send(Send("x"))
    assert await anext(events) == Notice("x")
    await worker.close()
    assert [event async for event in events] == [Closed()]


async def test_close_of_a_deaf_process_is_quick_and_leaves_no_orphan(tmp_path: Path) -> None:
    worker = client(DEAF, tmp_path)
    await worker.start()
    assert await anext(aiter(worker.events())) == Notice("up")
    assert worker._process is not None
    pid = worker._process.pid
    began = time.perf_counter()
    await worker.close()
    assert time.perf_counter() - began < 0.6, "0.2 s on a quiet machine"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_close_without_a_process_does_nothing(tmp_path: Path) -> None:
    await client(ECHO, tmp_path).close()
