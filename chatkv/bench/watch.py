"""Takes in a session's events and adds them up: what each turn cost, what was compacted, how high the KV rose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from statistics import median
from typing import Any

from chatkv.bench.again import Again
from chatkv.engine.local import LocalEngine
from chatkv.protocol import Compaction, Event, Prefill, PrefixBreak, Recalled, Turn

_STALL = 3.0
"""A turn whose TTFT is this many times the median counts as a stall."""


class Watch:
    """Hand `take` to a host; `row` runs one turn."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.compactions: list[tuple[int, Compaction]] = []
        """With the number of turns that had been held by then."""
        self.peak_reserved = 0
        self.recalled_s: list[float] = []
        self.healed = 0
        """Moved tokens that were computed exactly when idle."""
        self._again = Again()
        self._engine: LocalEngine | None = None
        self._length = self._inexact = 0
        self._breaks = 0

    def follow(self, engine: LocalEngine) -> None:
        """Look at the KV of `engine` at every event from now on."""
        self._engine = engine

    def take(self, event: Event) -> None:
        """One more event; the KV is looked at whatever it says."""
        if self._engine is not None:
            self._look(self._engine, event)
        match event:
            case Turn():
                self.turns.append(event)
            case Compaction(stage="done"):
                self.compactions.append((len(self.turns), event))
            case Recalled(seconds=seconds):
                self.recalled_s.append(seconds)
            case PrefixBreak(tokens=tokens):
                self._breaks += tokens

    def _look(self, engine: LocalEngine, event: Event) -> None:
        self.peak_reserved = max(self.peak_reserved, engine.cache.reserved_bytes)
        segments = engine.ledger.segments
        inexact = sum(segment.n_tokens for segment in segments if segment.tier == "E2")
        if isinstance(event, Prefill) and event.early and len(engine.ledger) == self._length:
            self.healed += max(0, self._inexact - inexact)
        self._length, self._inexact = len(engine.ledger), inexact
        if isinstance(event, Turn):
            prefilled = event.prefilled + event.prefilled_early
            ids = engine.ledger.ids
            self._again.turn(ids, segments, event.turn, prefilled=prefilled, decoded=event.decoded)

    def row(self, hold: Callable[[], None]) -> dict[str, Any]:
        """Hold one turn; what it cost, and the compactions since the turn before."""
        seen, self._breaks = len(self.turns), 0
        since = [done for at, done in self.compactions if at == seen]
        hold()
        now = [done for at, done in self.compactions if at == seen][len(since) :]
        return {
            **asdict(self.turns[-1]),
            "prefix_break_tokens": self._breaks,
            "compacted_before": [_brief(done) for done in since],
            "compacted_in_turn": [_brief(done) for done in now],
        }

    def totals(self, wall_s: float, idle_s: float) -> dict[str, Any]:
        """All turns together."""
        turns = self.turns
        decode_s = sum(turn.tpot_s * (turn.decoded - 1) for turn in turns if turn.tpot_s is not None)
        later = sum(turn.decoded - 1 for turn in turns if turn.tpot_s is not None)
        waits = [turn.ttft_s for turn in turns if turn.ttft_s is not None]
        usual = median(waits) if waits else 0.0
        return {
            "turns": len(turns),
            "prefilled": sum(turn.prefilled + turn.prefilled_early for turn in turns),
            "prefilled_early": sum(turn.prefilled_early for turn in turns),
            "reused": sum(turn.reused for turn in turns),
            "decoded": sum(turn.decoded for turn in turns),
            "recalled": sum(turn.recalled for turn in turns),
            **self._read_again(),
            "ttft_s": round(sum(waits), 4),
            "ttft_median_s": round(usual, 4),
            "ttft_worst_s": round(max(waits, default=0.0), 4),
            "stalls": sum(wait > _STALL * usual for wait in waits),
            "decode_tok_s": round(later / decode_s, 2) if decode_s else None,
            "wall_s": round(wall_s, 3),
            "idle_s": round(idle_s, 3),
            "kv_used_bytes": turns[-1].kv_used_bytes,
            "kv_reserved_bytes": turns[-1].kv_reserved_bytes,
            "kv_peak_reserved_bytes": self.peak_reserved,
            "kv_budget_bytes": turns[-1].kv_budget_bytes,
            **self._compacted(),
        }

    def _read_again(self) -> dict[str, Any]:
        """What was prefilled though the model had read it before, and what reading the context anew at each
        compaction would have come to. Healing is idle work in place, and counted apart."""
        if_trimmed = sum(compaction.tokens_after for _, compaction in self.compactions)
        return {
            "reprefilled": self._again.again,
            "reprefill_if_trimmed": if_trimmed,
            "reprefilled_share": round(self._again.again / if_trimmed, 4) if if_trimmed else None,
            "healed": self.healed,
        }

    def _beyond(self) -> float | None:
        """The longest that a turn which had to compact first waited for anything else; None if none had to."""
        beyond = [
            turn.ttft_s - sum(one.total_s for at, one in self.compactions if at == n and one.reason == "full")
            for n, turn in enumerate(self.turns)
            if turn.ttft_s is not None
            and any(at == n and one.reason == "full" for at, one in self.compactions)
        ]
        return round(max(beyond), 4) if beyond else None

    def _compacted(self) -> dict[str, Any]:
        at = [held for held, _ in self.compactions]
        apart = [later - earlier for earlier, later in pairwise(at)]
        done = [compaction for _, compaction in self.compactions]
        return {
            "compactions": len(done),
            "turns_apart": apart,
            "compaction_prefilled": sum(one.prefilled for one in done),
            "compaction_decoded": sum(one.decoded for one in done),
            "compaction_s": round(sum(one.total_s for one in done), 3),
            "swap_worst_s": round(max((one.swap_s for one in done), default=0.0), 4),
            "beyond_compaction_worst_s": self._beyond(),
        }


def _brief(done: Compaction) -> dict[str, Any]:
    names = ("reason", "turns", "origin", "method", "tokens_before", "tokens_after", "prefilled", "decoded")
    return {**{name: getattr(done, name) for name in names}, "total_s": round(done.total_s, 3)}
