"""`chatkv stdio` in real processes that start at once: forked from one that has imported everything."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import IO, Any

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["chatkv.host", "chatkv.worker", "chatkv.cli.main", "transformers.models.llama"]
)


class Forked:
    """A running `chatkv stdio`, as `processes.Stdio` but without the time that imports take."""

    def __init__(self, environment: dict[str, str]) -> None:
        (commands, self._commands), (self._events, events) = _FORKS.Pipe(False), _FORKS.Pipe(False)
        self.process = _FORKS.Process(target=_live, args=(environment, commands, events), daemon=True)
        self.process.start()
        commands.close()
        events.close()
        self._source: IO[str] = os.fdopen(os.dup(self._events.fileno()), encoding="utf-8")
        self._events.close()

    def send(self, kind: str, **fields: Any) -> None:
        os.write(self._commands.fileno(), (json.dumps({"type": kind, **fields}) + "\n").encode())

    def events(self) -> Iterator[dict[str, Any]]:
        """Events until the process ends; a line that a kill cut is none."""
        with self._source:
            for line in self._source:
                if line.endswith("\n"):
                    yield json.loads(line)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self.process.join()
        self._commands.close()


def _live(environment: dict[str, str], commands: Connection, events: Connection) -> None:
    from chatkv.cli.main import main

    os.environ.clear()
    os.environ.update(environment)
    os.dup2(commands.fileno(), 0)
    os.dup2(events.fileno(), 1)
    commands.close()
    events.close()
    sys.stdin, sys.argv = os.fdopen(0, encoding="utf-8"), ["chatkv", "stdio"]
    main()
