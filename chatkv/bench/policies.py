"""The policies of memory side by side: one conversation with planted facts, held under each, then asked about.

A fact is held if its value stands in the prompt that the question would make. What the model would answer is not
judged: a small one cannot be trusted to read out what stands before it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from chatkv.bench.facts import Fact, Planted, holds, verdict
from chatkv.bench.likelihood import copied, grown, read
from chatkv.bench.stage import continuation, say, settle, staged
from chatkv.bench.watch import Watch
from chatkv.config import Config
from chatkv.host import Host
from chatkv.memory.policy import POLICIES
from chatkv.paths import Paths
from chatkv.tokens import Rendered

_TOTALS = (
    "prefilled",
    "prefilled_early",
    "decoded",
    "recalled",
    "reprefilled",
    "reprefill_if_trimmed",
    "reprefilled_share",
    "healed",
    "stalls",
    "ttft_median_s",
    "ttft_worst_s",
    "kv_peak_reserved_bytes",
    "kv_budget_bytes",
    "compactions",
    "compaction_prefilled",
    "compaction_decoded",
    "wall_s",
    "idle_s",
)
_CRITERIA = (
    ("facts_held", -1),
    ("facts_only_superseded", 1),
    ("stalls", 1),
    ("ppl_next", 1),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """How the conversation is held: policies by name, longest reply in tokens, seconds of idle time between turns
    (None: until all idle work is done)."""

    policies: tuple[str, ...] = tuple(POLICIES)
    reply: int = 32
    idle_s: float | None = None


def run_policies(config: Config, paths: Paths, planted: Planted, trial: Trial) -> Iterator[dict[str, Any]]:
    """Yield one object a policy, then which is best and by what.

    `ppl_recent` is the perplexity of the last `memory.keep_turns` turns behind what else the policy left in the
    context, read anew; the answers in them are this run's own. `ppl_next` is that of a further message and answer,
    the same for all policies, on the KV as it stands, moved keys and all.
    """
    rows = []
    for name in trial.policies:
        rows.append(_row(replace(config, memory=replace(config.memory, policy=name)), paths, planted, trial))
        yield rows[-1]
    yield best_of(rows)


def best_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The policy that wins by the first figure in which it is ahead of those level with it so far."""
    left, by = list(rows), "nothing"
    for name, sign in _CRITERIA:
        ahead = min(sign * row[name] for row in left)
        still = [row for row in left if sign * row[name] == ahead]
        if len(still) < len(left):
            left, by = still, name
    return {"best": left[0]["policy"], "by": by, "level": [row["policy"] for row in left[1:]]}


def _row(config: Config, paths: Paths, planted: Planted, trial: Trial) -> dict[str, Any]:
    watch = Watch()
    with staged(config, paths, watch, system=planted.system, reply=trial.reply) as host:
        started, waited = time.perf_counter(), 0.0
        for text in planted.turns:
            waited += settle(host, trial.idle_s)
            watch.row(partial(say, host, text))
        waited += settle(host, trial.idle_s)
        totals = watch.totals(time.perf_counter() - started - waited, waited)
        settle(host)
        return {
            "policy": config.memory.policy,
            "recall": config.memory.recall,
            **judged(host, planted.facts),
            "ppl_recent": round(_recent(host), 3),
            "ppl_next": round(_next(host, planted.following), 3),
            **{name: totals[name] for name in _TOTALS},
        }


def judged(host: Host, facts: Sequence[Fact]) -> dict[str, Any]:
    """Ask for each fact: how many are held, where, and which are not. A value can stand in several places."""
    missed: list[dict[str, Any]] = []
    superseded = 0
    where = {"summary": 0, "window": 0, "recalled": 0}
    for fact in facts:
        prompt = host.session.prompts.preview(fact.question)
        text = host.runtime.codec.decode(prompt.ids)
        found = verdict(text, fact)
        if found != "held":
            superseded += found == "only superseded"
            missed.append({"turn": fact.turn, "question": fact.question, "verdict": found})
        for place, part in _places(host, prompt).items():
            where[place] += any(holds(part, value) for value in fact.values)
    return {
        "facts": len(facts),
        "facts_held": len(facts) - len(missed),
        "facts_only_superseded": superseded,
        "facts_missing": len(missed) - superseded,
        "where": where,
        "missed": missed,
    }


def _places(host: Host, prompt: Rendered) -> dict[str, str]:
    """The text of a prompt by where it comes from."""
    places: dict[str, list[str]] = {"summary": [], "recalled": [], "window": []}
    start = 0
    for segment in prompt.segments:
        end = start + segment.n_tokens
        place = segment.kind if segment.kind in places else "window"
        places[place].append(host.runtime.codec.decode(prompt.ids[start:end]))
        start = end
    return {place: "\n".join(parts) for place, parts in places.items()}


def _recent(host: Host) -> float:
    loaded, stable = host.runtime.engine.loaded, host.session.upkeep.planner.stable
    rounds = host.session.context.in_context()[-max(1, host.runtime.memory.keep_turns) :]
    start = 0
    for segment in stable.segments:
        if segment.turn == rounds[0].turn:
            break
        start += segment.n_tokens
    return read(loaded, grown(loaded, None, stable.ids[:start]), stable.ids[start:]).perplexity


def _next(host: Host, following: tuple[str, str]) -> float:
    engine, loaded = host.runtime.engine, host.runtime.engine.loaded
    ids, n_stable = continuation(host, following)
    # Where nothing can be moved, reading it anew gives what the KV holds.
    held = min(engine.ledger.shared(ids), n_stable) if engine.cache.can_move else 0
    twin = copied(loaded, engine.cache, held) if held else None
    return read(loaded, grown(loaded, twin, ids[held:n_stable]), ids[n_stable:]).perplexity
