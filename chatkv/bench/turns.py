"""A scripted conversation, greedy, turn by turn: what each turn reused, prefilled, decoded and took.

The file holds `{"system": str, "turns": [str, ...]}`. Between turns the idle work runs to its end, as it does
while a person reads; what it prefills is counted as `prefilled_early`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chatkv.bench.stage import say, settle, staged
from chatkv.bench.watch import Watch
from chatkv.config import Config
from chatkv.errors import UsageError
from chatkv.host import Host
from chatkv.paths import Paths


@dataclass(frozen=True, slots=True)
class Script:
    """What is said."""

    system: str
    turns: tuple[str, ...]


def read_script(file: Path) -> Script:
    """Read a script. Raises `UsageError` that names what is wrong with the file."""
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        script = Script(str(table.get("system", "")), tuple(table["turns"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{file} is not a script: {error}.", 'Write {"system": "…", "turns": ["…", "…"]}.'
        ) from error
    if not script.turns or not all(isinstance(turn, str) for turn in script.turns):
        raise UsageError(f"{file}: `turns` must be a list of strings.")
    return script


@dataclass(frozen=True, slots=True)
class Drive:
    """How a script is held: longest reply in tokens; KV forgotten before each turn (`cold`); the script said
    `repeat` times over; seconds of idle time between turns (None: until all idle work is done)."""

    reply: int = 64
    cold: bool = False
    repeat: int = 1
    idle_s: float | None = None


def run_turns(config: Config, paths: Paths, script: Script, drive: Drive) -> Iterator[dict[str, Any]]:
    """Yield one object a turn, then the totals."""
    watch = Watch()
    with staged(config, paths, watch, system=script.system, reply=drive.reply) as host:
        started, waited = time.perf_counter(), 0.0
        for text in script.turns * drive.repeat:
            waited += _forget(host) if drive.cold else settle(host, drive.idle_s)
            yield watch.row(partial(say, host, text))
        yield watch.totals(time.perf_counter() - started - waited, waited)


def _forget(host: Host) -> float:
    started = time.perf_counter()
    host.runtime.engine.rewind(0)
    host.runtime.engine.ledger.mark()
    return time.perf_counter() - started
