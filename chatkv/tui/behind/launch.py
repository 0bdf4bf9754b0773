"""The command line of the worker process: the same settings as the app's, whatever they came from."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
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
            argv += ["--set", f"{key}={spelled(value)}"]
    return [*argv, "stdio", "--stop-at-end"]


def with_model(argv: Sequence[str], model: str, *, revision: bool) -> list[str]:
    """The same command line with another model. `revision`: one is set, which was meant for the first model."""
    at = argv.index("--model") + 1
    changed = [*argv[:at], model, *argv[at + 1 :]]
    if revision and model != argv[at]:
        changed[at + 1 : at + 1] = ["--set", "load.revision="]
    return changed


def spelled(value: Any) -> str:
    """A value as it is written behind `--set KEY=`, or for `Set`."""
    if isinstance(value, (list, tuple)):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)
