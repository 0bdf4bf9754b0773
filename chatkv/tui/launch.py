"""The command line of the worker process: the same settings as the app's, whatever they came from."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from chatkv.config import Config
from chatkv.paths import Paths

_GIVEN = ("model", "store.database")


def usual_worker_argv(config: Config, paths: Paths, overrides: Mapping[str, Any]) -> list[str]:
    """`python -m chatkv … stdio`. File and environment reach the worker by themselves; `overrides`, the dotted keys
    that were typed for this run, are handed on."""
    argv = [sys.executable, "-m", "chatkv", "--model", config.model, "--db", str(config.database(paths))]
    for key, value in overrides.items():
        if key not in _GIVEN and value is not None:
            argv += ["--set", f"{key}={_spelled(value)}"]
    return [*argv, "stdio", "--stop-at-end"]


def _spelled(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)
