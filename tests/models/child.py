"""One model located in a process of its own, so that tests can kill it, race it and set its environment.

Reads a request from its argument; writes one JSON object a line: each progress, then the result or the error.
Stops at the first progress of stage `wait_at` until a line comes on stdin.
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


def start(request: dict[str, Any], **environment: str) -> subprocess.Popen[str]:
    """Start a child that does `request`, with `environment` added to this process's."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, __file__, json.dumps(request)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )


def finish(child: subprocess.Popen[str]) -> tuple[list[Progress], dict[str, Any]]:
    """Let the child run on to its end: what it told, and its last line."""
    out, err = child.communicate("\n", timeout=120)
    assert "Traceback" not in err, err
    *told, last = [json.loads(line) for line in out.splitlines()]
    return [Progress(**table) for table in told if "stage" in table], last


def wait_for(child: subprocess.Popen[str], stage: str) -> None:
    """Return when the child has told of `stage`."""
    assert child.stdout is not None
    for line in child.stdout:
        if json.loads(line).get("stage") == stage:
            return
    raise AssertionError(f"the child ended before stage {stage!r}")


def main(request: dict[str, Any]) -> int:
    """Do the request; the exit code of the command line for its outcome."""
    waiting = [request.get("wait_at")]

    def tell(progress: Progress) -> None:
        print(json.dumps(dataclasses.asdict(progress)), flush=True)
        if progress.stage in waiting:
            waiting.clear()
            sys.stdin.readline()

    folder = Path(request["folder"])
    try:
        if "starter" in request:
            result: dict[str, Any] = {
                "path": str(ensure_starter(folder, tell, Starter(**request["starter"])))
            }
        else:
            options = request.get("options", {})
            result = dataclasses.asdict(locate_model(request["spec"], folder, on_progress=tell, **options))
    except ModelError as error:
        print(json.dumps({"error": error.message, "hint": error.hint}))
        return error.exit_code
    print(json.dumps(result, default=str))
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
