"""Models located in a process of its own, so that tests can kill it, race it and set its environment.

Reads requests from its argument; writes one JSON object a line: each progress, then the result or the error.
Stops at the first progress of a request's stage `wait_at` until a line comes on stdin.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from chatkv.errors import ModelError
from chatkv.models import Progress, locate_model
from chatkv.models.starter import Starter, ensure_starter

Outcome = tuple[list[Progress], dict[str, Any]]
"""What a request told, and its result or error."""


def start(*requests: dict[str, Any], **environment: str) -> subprocess.Popen[str]:
    """Start a child that does `requests` in turn, with `environment` added to this process's."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, __file__, json.dumps(requests)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )


def finish(child: subprocess.Popen[str]) -> list[Outcome]:
    """Let the child run on to its end; one outcome a request, without what was read before."""
    out, err = child.communicate("\n", timeout=120)
    assert child.returncode == 0, err
    outcomes, told = [], []
    for table in map(json.loads, out.splitlines()):
        if "stage" in table:
            told.append(Progress(**table))
        else:
            outcomes.append((told, table))
            told = []
    return outcomes


def wait_for(child: subprocess.Popen[str], stage: str) -> None:
    """Return when the child has told of `stage`."""
    assert child.stdout is not None
    for line in child.stdout:
        if json.loads(line).get("stage") == stage:
            return
    raise AssertionError(f"the child ended before stage {stage!r}")


def kill(child: subprocess.Popen[str]) -> None:
    """End the child as `kill -9` does."""
    child.kill()
    child.communicate()


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Do the request; its result or error."""
    waiting = [request.get("wait_at")]

    def tell(progress: Progress) -> None:
        print(json.dumps(dataclasses.asdict(progress)), flush=True)
        if progress.stage in waiting:
            waiting.clear()
            sys.stdin.readline()

    folder = Path(request["folder"])
    try:
        if "starter" in request:
            return {"path": ensure_starter(folder, tell, Starter(**request["starter"]))}
        options = request.get("options", {})
        return dataclasses.asdict(locate_model(request["spec"], folder, on_progress=tell, **options))
    except ModelError as error:
        return {"error": error.message, "hint": error.hint}


if __name__ == "__main__":
    for item in json.loads(sys.argv[1]):
        print(json.dumps(main(item), default=str), flush=True)
