"""Real `chatkv` processes for tests: run to their end, or spoken to over pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

Run = Callable[..., subprocess.CompletedProcess[str]]


class Stdio:
    """A running `chatkv stdio`."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "chatkv", "stdio", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )

    def send(self, kind: str, **fields: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"type": kind, **fields}) + "\n")
        self.process.stdin.flush()

    def events(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def until(self, kind: str) -> list[dict[str, Any]]:
        """Events up to and including the next of `kind`."""
        seen = []
        for event in self.events():
            seen.append(event)
            if event["type"] == kind:
                return seen
        raise AssertionError(f"no {kind} event; the last were {seen[-3:]}")
