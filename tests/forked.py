"""`chatkv` in processes of its own that start at once: forked from one that has imported everything.

What an interpreter does before and after is left out; `processes.program` and `Stdio(real=True)` have it.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext

import pytest

_IMPORTED = [
    *("chatkv.host", "chatkv.worker", "chatkv.cli.main", "chatkv.transfer"),
    *(f"chatkv.cli.{room}" for room in ("ask", "bench", "cache", "config", "doctor", "sessions", "stdio")),
    *(f"chatkv.bench.{room}" for room in ("draft", "policies", "recall", "resume", "swap", "turns")),
    *(f"transformers.models.{kind}.modeling_{kind}" for kind in ("llama", "qwen2")),
]


class Forked:
    """A running `chatkv`, as `subprocess.Popen` has it; `stdin`, `stdout` and `stderr` are descriptors."""

    def __init__(
        self, arguments: Sequence[str], environment: dict[str, str], stdin: int, stdout: int, stderr: int
    ) -> None:
        ends = [Connection(os.dup(end)) for end in (stdin, stdout, stderr)]
        self._process = _forks().Process(target=_live, args=(arguments, environment, *ends), daemon=True)
        self._process.start()
        for end in ends:
            end.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended."""
        self._process.join(timeout)
        if (code := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired("chatkv", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send the signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


@functools.cache
def _forks() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")  # is read once, at import
        forkserver.ensure_running()
    return context


def _live(arguments: Sequence[str], environment: dict[str, str], *ends: Connection) -> None:
    from chatkv.cli.main import main

    os.environ.clear()
    os.environ.update(environment)
    for number, end in enumerate(ends):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.argv = ["chatkv", *arguments]
    main()
