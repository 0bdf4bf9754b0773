"""What coming back to a conversation costs: KV read from disk, against KV computed anew and against no conversation.

A conversation is held up to a length, left, and opened by fresh engines and fresh processes.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from chatkv.bench.facts import load
from chatkv.bench.stage import never, say, settle
from chatkv.bench.watch import Watch
from chatkv.config import Config, SamplingConfig
from chatkv.errors import UsageError, WorkerError
from chatkv.host import Host
from chatkv.paths import Paths
from chatkv.protocol import Fork, New, Open, Restored

_REPLY = 48
_QUESTION = "What did I say first, and what would you add to it?"


def run_resume(config: Config, paths: Paths, *, tokens: int, runs: int) -> Iterator[dict[str, Any]]:
    """Yield an object for each part: `held`, `restored`, `computed`, `started`; the last one holds ratios.

    Raises `UsageError` if the model's context is too short for so many tokens.
    """
    with tempfile.TemporaryDirectory() as folder:
        sampling = replace(SamplingConfig(), temperature=0.0, max_new_tokens=_REPLY)
        store = replace(config.store, database=str(Path(folder) / "bench.db"))
        config = replace(config, sampling=sampling, store=store)
        held = _held(config, paths, tokens)
        yield held
        back = _come_back(config, paths)
        yield {"part": "restored", **back}
        anew = _come_back(replace(config, store=replace(store, kv="0")), paths)
        yield {"part": "computed", **anew}
        started = _starts(config, paths, runs)
        yield {"part": "started", **started}
        yield {
            "restore_share": round(back["restore_s"] / anew["settle_s"], 4),
            "start_ratio": round(started["with_session_s"] / started["without_session_s"], 3),
            "same_answer": back["answer"] == anew["answer"] == held["answer"],
            "save_share": held["save_share"],
            "bytes_ratio": held["bytes_ratio"],
            "prefilled": back["prefilled"],
        }


def _held(config: Config, paths: Paths, tokens: int) -> dict[str, Any]:
    """Talk until the KV is `tokens` long, ask a question, take it back, and leave."""
    watch, planted = Watch(), load()
    with _hosted(config, paths, watch) as host:
        engine = host.runtime.engine
        room = host.session.upkeep.planner.room
        if tokens > min(room.soft, room.hard):
            raise UsageError(
                f"{tokens:,} tokens are too many: {room.soft:,} is where this model's memory would be compacted.",
                "Give a smaller --tokens, or a larger --set memory.budget=….",
            )
        host.handle(New(planted.system), never, time.perf_counter())
        began = time.perf_counter()
        for text in itertools.cycle(planted.turns):
            say(host, text)
            settle(host)
            if len(engine.ledger) >= tokens:
                break
        talked_s, keeper = time.perf_counter() - began, host.session.upkeep.keeper
        written, n_tokens = keeper.written_bytes, len(engine.ledger)
        save_s = keeper.written_s
        answer = _asked_in_passing(host)
        verdict = host.session.store.verdict(engine.fingerprint)
    new_bytes = n_tokens // 256 * 256 * engine.loaded.bytes_per_token
    return {
        "part": "held",
        "turns": len(watch.turns) - 1,
        "kv_tokens": n_tokens,
        "talked_s": round(talked_s, 2),
        "written_bytes": written,
        "bytes_ratio": round(written / max(1, new_bytes), 4),
        "save_s": round(save_s, 3),
        "save_share": round(save_s / talked_s, 4),
        "int8": None if verdict is None else asdict(verdict),
        "answer": answer,
    }


def _come_back(config: Config, paths: Paths) -> dict[str, Any]:
    """Open the conversation with a fresh engine and ask the question."""
    watch = _Reading()
    with _hosted(config, paths, watch) as host:
        began = time.perf_counter()
        host.handle(Open("last"), never, began)
        settle(host)
        settle_s = time.perf_counter() - began
        n_tokens = len(host.runtime.engine.ledger)
        answer = _asked_in_passing(host)
    turn = watch.turns[-1]
    return {
        "kv_tokens": n_tokens,
        "settle_s": round(settle_s, 3),
        "restored": sum(event.tokens for event in watch.restored),
        "restore_s": round(sum(event.seconds for event in watch.restored), 4),
        "reused": turn.reused,
        "prefilled_early": turn.prefilled_early,
        "prefilled": turn.prefilled,
        "ttft_s": turn.ttft_s,
        "answer": answer,
    }


def _starts(config: Config, paths: Paths, runs: int) -> dict[str, Any]:
    """Seconds from process start to ready for a message, alternating with and without a session."""
    times: dict[str, list[float]] = {"without_session_s": [], "with_session_s": []}
    for _ in range(runs):
        times["without_session_s"].append(_start(config, paths, None))
        times["with_session_s"].append(_start(config, paths, "last"))
    return {name: round(median(values), 3) for name, values in times.items()}


def _start(config: Config, paths: Paths, session: str | None) -> float:
    database = str(config.database(paths))
    argv = [sys.executable, "-m", "chatkv", "--model", config.model, "--db", database, "stdio"]
    awaited = "ready" if session is None else "opened"
    began = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if session is not None:
            process.stdin.write(json.dumps({"type": "open", "session": session}) + "\n")
            process.stdin.flush()
        for line in process.stdout:
            if json.loads(line)["type"] == awaited:
                seconds = time.perf_counter() - began
                process.stdin.close()
                process.stdout.read()
                return seconds
    raise WorkerError("The process ended before it was ready.")


class _Reading(Watch):
    """A watch that also keeps what was read from disk."""

    def __init__(self) -> None:
        super().__init__()
        self.restored: list[Restored] = []

    def take(self, event: Any) -> None:
        """One more event."""
        super().take(event)
        if isinstance(event, Restored) and event.stage != "reading":
            self.restored.append(event)


@contextmanager
def _hosted(config: Config, paths: Paths, watch: Watch) -> Iterator[Host]:
    host = Host(config, paths, watch.take)
    try:
        host.load()
        watch.follow(host.runtime.engine)
        yield host
    finally:
        host.close()


def _asked_in_passing(host: Host) -> list[int]:
    """The ids of the answer to the question, which is no part of the conversation afterwards."""
    before = host.session.leaf
    assert before is not None
    say(host, _QUESTION)
    answer = host.session.leaf
    assert answer is not None
    host.handle(Fork(before.id), never, time.perf_counter())
    settle(host)
    return list(answer.ids)
