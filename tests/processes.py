"""`chatkv` processes for tests, forked or `real`: run to their end, or spoken to over pipes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from forked import Forked

Run = Callable[..., subprocess.CompletedProcess[str]]
_PATIENCE_S = 120


def program(
    environment: dict[str, str], *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """`python -m chatkv` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "chatkv", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env=environment,
        timeout=_PATIENCE_S,
        check=False,
    )


def forked(environment: dict[str, str], *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The same without the time that imports take."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        process = Forked(arguments, environment, given.fileno(), out.fileno(), err.fileno())
        try:
            code = process.wait(_PATIENCE_S)
        finally:
            process.kill()
        written = []
        for file in (out, err):
            file.seek(0)
            written.append(file.read().decode())
    return subprocess.CompletedProcess(arguments, code, *written)


class Stdio:
    """A running `chatkv stdio`."""

    def __init__(self, environment: dict[str, str], *arguments: str, real: bool = False) -> None:
        (commands, ours), (heard, events) = os.pipe(), os.pipe()
        self.commands, self.heard = os.fdopen(ours, "w"), os.fdopen(heard)
        arguments = ("stdio", *arguments)
        self.process: Forked | subprocess.Popen[bytes]
        with open(commands) as stdin, open(events, "w") as stdout, open(os.devnull, "w") as stderr:
            if real:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "chatkv", *arguments],
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env=environment,
                )
            else:
                ends = (stdin.fileno(), stdout.fileno(), stderr.fileno())
                self.process = Forked(arguments, environment, *ends)

    def send(self, kind: str, **fields: Any) -> None:
        self.commands.write(json.dumps({"type": kind, **fields}) + "\n")
        self.commands.flush()

    def events(self) -> Iterator[dict[str, Any]]:
        """Events until the process ends; a line that a kill cut is none."""
        for line in self.heard:
            if line.endswith("\n"):
                yield json.loads(line)

    def until(self, kind: str) -> list[dict[str, Any]]:
        """Events up to and including the next of `kind`."""
        seen = []
        for event in self.events():
            seen.append(event)
            if event["type"] == kind:
                return seen
        raise AssertionError(f"no {kind} event; the last were {seen[-3:]}")

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it, whatever its state."""
        self.kill()
        for end in (self.commands, self.heard):
            with contextlib.suppress(BrokenPipeError):
                end.close()
