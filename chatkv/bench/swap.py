"""What a compaction costs and how exact the KV is: cancelled, after the swap, when answered on, and once healed.

The conversation is the one with planted facts, and half of its turns stay. Exactness is measured against the same
ids prefilled into a cache of their own.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import torch
from torch import Tensor

from chatkv.bench.facts import Planted, load
from chatkv.bench.likelihood import Reading, copied, grown, joined, read
from chatkv.bench.stage import continuation, never, say, settle, staged
from chatkv.bench.watch import Watch
from chatkv.config import Config
from chatkv.errors import UsageError
from chatkv.host import Host
from chatkv.kv.cache import LiveCache
from chatkv.kv.layers import GrowingLayer
from chatkv.kv.moves import Move
from chatkv.paths import Paths
from chatkv.protocol import Compaction, Set

_FILLED = 0.5
"""Share of the budget that the KV fills: not yet so much that idle work compacts it."""
_REPLY = 24
_LEAST_KEPT = 2
"""Turns that stay at least: the second is read behind the first."""
_CANCELLED_AT = 4
"""Tokens of a summary after which a compaction is cancelled."""


def run_swap(config: Config, paths: Paths, *, tokens: int, runs: int) -> Iterator[dict[str, Any]]:
    """Yield one object a compaction, then the totals; the KV is filled up to `tokens` first.

    Raises `UsageError` if the model's context is too short for that, if so many tokens are too few turns, or if the
    model's keys cannot be moved.
    """
    planted = load()
    with staged(config, paths, Watch(), system=planted.system, reply=_REPLY) as host:
        _fill(host, planted, tokens)
        totals: dict[str, Any] = _cancelled(host)
        swaps: list[float] = []
        for run in range(1, runs + 1):
            done = _compacted(host)
            swaps.append(done.swap_s)
            yield {"run": run, **_brief(done)}
            if run < runs:
                _take_back(host)
        totals |= {"swap_s": round(median(swaps), 4), **_exactness(host, planted)}
        _take_back(host)
        yield {**totals, **_all_moved(host, runs)}


def _fill(host: Host, planted: Planted, tokens: int) -> None:
    """Talk until one more turn would pass `tokens`, under a budget of which they are `_FILLED`."""
    engine = host.runtime.engine
    if engine.turnings is None:
        raise UsageError("The keys of this model cannot be moved: kept turns are prefilled again.")
    limit, loaded = int(tokens / _FILLED), engine.loaded
    if limit > loaded.context_tokens:
        most = int(loaded.context_tokens * _FILLED)
        raise UsageError(f"{tokens:,} tokens are too many for this model.", f"--tokens {most} is the most.")
    budget = limit * loaded.bytes_per_token + loaded.fixed_bytes
    host.handle(Set("memory.budget", f"{budget} B"), never, 0.0)
    grown_by = 0
    for text in itertools.cycle(planted.turns):
        before = len(engine.ledger)
        if before + grown_by > tokens:
            break
        say(host, text)
        grown_by = max(grown_by, len(engine.ledger) - before)
    kept = len(host.session.context.rounds) // 2
    if kept < _LEAST_KEPT:
        least = 2 * _LEAST_KEPT * max(grown_by, tokens)
        raise UsageError(f"{tokens:,} tokens are too few turns to compact.", f"Try --tokens {least}.")
    host.handle(Set("memory.keep_turns", kept), never, 0.0)
    settle(host)


def _cancelled(host: Host) -> dict[str, Any]:
    """Begin a compaction and stop it in the middle of the summary: what was prefilled, and whether all is as before."""
    engine = host.runtime.engine
    before, ids = _states(host), list(engine.ledger.ids)
    seen: list[Compaction] = []
    for event in host.session.upkeep.compact("", lambda: bool(seen) and seen[-1].decoded >= _CANCELLED_AT):
        if isinstance(event, Compaction):
            seen.append(event)
    same = all(torch.equal(a, b) for a, b in zip(before, _states(host), strict=True))
    settle(host)
    return {
        "tokens": len(ids),
        "request": max(event.prefilled for event in seen if event.decoded <= 1),
        "rollback_exact": seen[-1].stage == "given_up" and same and list(engine.ledger.ids) == ids,
    }


def _states(host: Host) -> list[Tensor]:
    layers = [layer for layer in host.runtime.engine.cache.layers if isinstance(layer, GrowingLayer)]
    return [states.clone() for layer in layers for states in (layer.keys, layer.values) if states is not None]


def _compacted(host: Host) -> Compaction:
    events = list(host.session.upkeep.compact("", never))
    return next(event for event in events if isinstance(event, Compaction) and event.stage == "done")


def _take_back(host: Host) -> None:
    """Undo the summary and read the turns again."""
    for _ in host.session.memory.undo():
        pass
    settle(host)


def _brief(done: Compaction) -> dict[str, Any]:
    names = ("method", "origin", "tokens_before", "tokens_after", "prefilled", "decoded")
    times = {"swap_s": round(done.swap_s, 4), "total_s": round(done.total_s, 3)}
    return {**{name: getattr(done, name) for name in names}, **times}


def _exactness(host: Host, planted: Planted) -> dict[str, Any]:
    """The KV against a prefill of the same ids: right after the swap, as an answer finds it, and once healed.

    `recent`: each kept turn but the first, read again behind those before it. `next`: a further message and answer.
    """
    moved = _inexact(host)
    states = {"moved": _readings(host, planted)}
    started = time.perf_counter()
    for _ in host.session.upkeep.heal_front(never):
        pass
    front, front_s = moved - _inexact(host), time.perf_counter() - started
    states["answered"] = _readings(host, planted)
    started = time.perf_counter()
    settle(host)
    heal_s = time.perf_counter() - started
    states["healed"], exact = _readings(host, planted), _readings(host, planted, anew=True)
    times = {"front_s": round(front_s, 3), "heal_s": round(heal_s, 3)}
    found: dict[str, Any] = {"moved": moved, "front": front, **times}
    for state, readings in states.items():
        for name, reading in readings.items():
            off = reading.perplexity / exact[name].perplexity - 1
            kl, equal = reading.divergence(exact[name])
            found |= {f"{name}_{state}_off": round(off, 5), f"{name}_{state}_kl": float(f"{kl:.3g}")}
            found[f"{name}_{state}_argmax"] = round(equal, 4)
    return {**found, **{f"{name}_ppl": round(reading.perplexity, 4) for name, reading in exact.items()}}


def _inexact(host: Host) -> int:
    return sum(segment.n_tokens for segment in host.runtime.engine.ledger.segments if segment.tier == "E2")


def _readings(host: Host, planted: Planted, *, anew: bool = False) -> dict[str, Reading]:
    """The kept turns from the second on, and the next message, each read behind the KV as it stands or `anew`."""
    loaded = host.runtime.engine.loaded
    ids, n_stable = continuation(host, planted.following)
    starts = _turn_starts(host)
    exact = grown(loaded, None, ids[: starts[0]]) if anew else None
    bounds = [*itertools.pairwise([*starts, n_stable]), (n_stable, len(ids))]
    *recent, following = [
        read(loaded, _held(host, ids[:at]) if exact is None else exact, ids[at:end]) for at, end in bounds
    ]
    return {"recent": joined(recent), "next": following}


def _turn_starts(host: Host) -> list[int]:
    """Where the kept turns begin in the KV, but for the first of them."""
    kept = {round.turn for round in host.session.context.in_context()}
    found: dict[int, int] = {}
    start = 0
    for segment in host.session.upkeep.planner.stable.segments:
        if segment.turn in kept:
            found.setdefault(segment.turn, start)
        start += segment.n_tokens
    return list(found.values())[1:]


def _held(host: Host, ids: Sequence[int]) -> LiveCache:
    """A cache of `ids`: a copy of what the live KV holds of them, and the rest read."""
    engine = host.runtime.engine
    held = engine.ledger.shared(ids)
    return grown(engine.loaded, copied(engine.loaded, engine.cache, held), ids[held:])


def _all_moved(host: Host, runs: int) -> dict[str, Any]:
    """The time of a swap that moves nearly all of the KV; it holds nothing of use afterwards."""
    engine, shared = host.runtime.engine, host.runtime.engine.ledger.segments[0].n_tokens
    seconds: list[float] = []
    moved = 0
    for _ in range(runs):
        moved = len(engine.ledger) - shared - 2
        engine.fork(shared, 1)
        engine.feed(engine.ledger.ids[:1], "wrapper", 0)
        started = time.perf_counter()
        engine.graft(shared, [Move(shared + 2, shared + 1, moved)])
        seconds.append(time.perf_counter() - started)
    engine.rewind(0)
    return {"all_moved": moved, "all_swap_s": round(median(seconds), 4)}
