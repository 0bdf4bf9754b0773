"""What prefill as you type is worth: a paste, a moment of reading, Enter; with draft prefilling and without.

Both in one process, in turn, each round a question further on in one conversation. Text is made up.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import Any

from chatkv.bench.facts import load
from chatkv.bench.stage import never, say, settle, staged
from chatkv.bench.watch import Watch
from chatkv.config import Config
from chatkv.errors import UsageError
from chatkv.host import Host
from chatkv.paths import Paths
from chatkv.protocol import Draft, Drafted, New, Set, Turn

_REPLY = 8
_ROOM = 256
"""Tokens that the conversation before the paste, and what stands around it, may take."""


def run_draft(
    config: Config, paths: Paths, *, tokens: int, rest_s: float, runs: int
) -> Iterator[dict[str, Any]]:
    """Yield an object a round, then the totals. Raises `UsageError` if so many tokens do not fit into a message."""
    watch = _Typing()
    config = replace(config, store=replace(config.store, kv="0"))
    with staged(config, paths, watch, system="", reply=_REPLY) as host:
        free = host.session.drafting.drafted().free - _ROOM
        if tokens > free:
            raise UsageError(
                f"A message of {tokens:,} tokens does not fit without compaction.",
                f"--tokens {free} is the most.",
            )
        rows = []
        for n, ahead in itertools.product(range(runs), (False, True)):
            # Never the same text twice: what a session that is kept warm holds would be copied.
            row = _round(host, watch, _paste(host, tokens, 2 * n + ahead), rest_s, ahead=ahead)
            rows.append(row)
            yield {"round": n + 1, **row}
        yield _totals(rows, tokens, rest_s)


def _round(host: Host, watch: _Typing, text: str, rest_s: float, *, ahead: bool) -> dict[str, Any]:
    """A new conversation with one turn behind it; then `text` is pasted, looked at and sent."""
    host.handle(Set("prefill.draft", ahead), never, time.perf_counter())
    host.handle(New(), never, time.perf_counter())
    say(host, "Hello!")
    settle(host)
    host.attend(Draft(text))
    pasted, counted = time.perf_counter(), watch.drafted.tokens
    while (left := pasted + rest_s - time.perf_counter()) > 0:
        if host.has_idle_work:
            host.idle_step()
        else:
            time.sleep(min(left, host.wakes_in_s() or left))
    drafted = watch.drafted.prefilled
    say(host, text)
    turn: Turn = watch.turns[-1]
    return {
        "ahead": ahead,
        "tokens": counted,
        "drafted": drafted,
        "reused": turn.reused,
        "prefilled_early": turn.prefilled_early,
        "prefilled": turn.prefilled,
        "ttft_s": turn.ttft_s,
    }


def _totals(rows: list[dict[str, Any]], tokens: int, rest_s: float) -> dict[str, Any]:
    on, off = ([row for row in rows if row["ahead"] is ahead] for ahead in (True, False))
    ttft_on, ttft_off = (median(row["ttft_s"] for row in side) for side in (on, off))
    return {
        "tokens": tokens,
        "rest_s": rest_s,
        "runs": len(on),
        "drafted": min(row["drafted"] for row in on),
        "prefilled_on": max(row["prefilled"] for row in on),
        "prefilled_off": max(row["prefilled"] for row in off),
        "ttft_on_s": round(ttft_on, 4),
        "ttft_off_s": round(ttft_off, 4),
        "ttft_ratio": round(ttft_on / ttft_off, 4),
    }


def _paste(host: Host, tokens: int, n: int) -> str:
    """A text of about `tokens` tokens, another one for each `n`."""
    words = f"{n}: " + " ".join(load().turns)
    ids = host.runtime.codec.encode_plain(words)
    ids *= -(-tokens // len(ids))
    return host.runtime.codec.decode(ids[:tokens])


class _Typing(Watch):
    """A watch that also keeps how the draft stands."""

    def __init__(self) -> None:
        super().__init__()
        self.drafted = Drafted(0, 0, 0)

    def take(self, event: Any) -> None:
        """One more event."""
        super().take(event)
        if isinstance(event, Drafted):
            self.drafted = event
