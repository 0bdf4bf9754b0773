"""The command line of the worker process: the same settings as the app's, whatever they came from."""

from __future__ import annotations

import json
import sys
from typing import Any

from chatkv.config import Config, flatten, load_config
from chatkv.paths import Paths

_GIVEN = ("model", "store.database")


def worker_argv(config: Config, paths: Paths) -> list[str]:
    """`python -m chatkv stdio …` for `config`: what the worker would not find by itself is passed with `--set`."""
    argv = [sys.executable, "-m", "chatkv", "stdio", "--model", config.model]
    argv += ["--db", str(config.database(paths))]
    found = flatten(load_config(paths=paths))
    for key, value in flatten(config).items():
        if key not in _GIVEN and not key.startswith("ui.") and value != found[key] and value is not None:
            argv += ["--set", f"{key}={_spelled(value)}"]
    return argv


def _spelled(value: Any) -> str:
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)
