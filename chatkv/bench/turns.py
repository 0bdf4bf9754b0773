"""A scripted conversation, greedy, turn by turn: what each turn reused, prefilled, decoded and took.

The file holds `{"system": str, "turns": [str, ...]}`. Between turns the idle work runs to its end, as it does
while a person reads; what it prefills is counted as `prefilled_early`.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from chatkv.config import Config, SamplingConfig, StoreConfig
from chatkv.errors import UsageError
from chatkv.host import Host
from chatkv.paths import Paths
from chatkv.protocol import Event, New, PrefixBreak, Send, Turn


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


def run_turns(
    config: Config, paths: Paths, script: Script, *, reply: int, cold: bool
) -> Iterator[dict[str, Any]]:
    """Yield one object a turn, then the totals. `cold`: forget the KV before each turn."""
    with tempfile.TemporaryDirectory() as folder:
        sampling = replace(SamplingConfig(), temperature=0.0, max_new_tokens=reply)
        store = StoreConfig(database=str(Path(folder) / "bench.db"))
        events: list[Event] = []
        host = Host(replace(config, sampling=sampling, store=store), paths, events.append)
        try:
            host.load()
            host.handle(New(script.system), _never, time.perf_counter())
            turns: list[Turn] = []
            started, waited = time.perf_counter(), 0.0
            for text in script.turns:
                waited += _forget(host) if cold else _settle(host)
                events.clear()
                host.handle(Send(text), _never, time.perf_counter())
                turns.extend(event for event in events if isinstance(event, Turn))
                breaks = sum(event.tokens for event in events if isinstance(event, PrefixBreak))
                yield {**asdict(turns[-1]), "prefix_break_tokens": breaks}
            yield _totals(turns, time.perf_counter() - started - waited, waited)
        finally:
            host.close()


def _totals(turns: list[Turn], wall_s: float, idle_s: float) -> dict[str, Any]:
    decode_s = sum(turn.tpot_s * (turn.decoded - 1) for turn in turns if turn.tpot_s is not None)
    later = sum(turn.decoded - 1 for turn in turns if turn.tpot_s is not None)
    return {
        "turns": len(turns),
        "prefilled": sum(turn.prefilled + turn.prefilled_early for turn in turns),
        "prefilled_early": sum(turn.prefilled_early for turn in turns),
        "reused": sum(turn.reused for turn in turns),
        "decoded": sum(turn.decoded for turn in turns),
        "ttft_s": round(sum(turn.ttft_s or 0.0 for turn in turns), 4),
        "decode_tok_s": round(later / decode_s, 2) if decode_s else None,
        "wall_s": round(wall_s, 3),
        "idle_s": round(idle_s, 3),
        "kv_used_bytes": turns[-1].kv_used_bytes,
        "kv_reserved_bytes": turns[-1].kv_reserved_bytes,
    }


def _settle(host: Host) -> float:
    started = time.perf_counter()
    while host.has_idle_work:
        host.idle_step()
    return time.perf_counter() - started


def _forget(host: Host) -> float:
    started = time.perf_counter()
    host.runtime.engine.rewind(0)
    host.runtime.engine.ledger.mark()
    return time.perf_counter() - started


def _never() -> bool:
    return False
