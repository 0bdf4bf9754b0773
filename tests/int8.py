"""Conversations whose KV goes to disk in int8, and what to look at."""

from __future__ import annotations

from pathlib import Path

from talk import Talk
from tiny import reference_model, tiny_loaded

from chatkv.kv.blocks import is_int8
from chatkv.protocol import Notice, Restored
from chatkv.store import Verdict

LONG = "the quick brown fox jumps over the lazy dog and " * 6
ALLOWED = Verdict("tiny", True, 0.001, 1.0, 64)


def a_talk(kind: str, file: Path, *, int8: bool = True, sure: bool = False) -> Talk:
    """`sure`: int8 was allowed before the conversation began."""
    talk = Talk(tiny_loaded(kind), file, reference=reference_model(kind), chunk=64)
    talk.set("store.kv_int8", int8)
    if sure:
        talk.store.set_verdict(talk.runtime.engine.fingerprint, ALLOWED)
    return talk


def held(talk: Talk, n_turns: int = 3) -> list[Notice]:
    """A conversation of some blocks and a tail, left as a person leaves it; what was said meanwhile."""
    notices = []
    for n in range(n_turns):
        talk.say(f"{n} {LONG}")
        talk.idle()
        notices += [event for event in talk.events if isinstance(event, Notice)]
    leave(talk)
    return notices


def leave(talk: Talk) -> None:
    talk.do(talk.session.upkeep.put_away())


def restored(talk: Talk, stage: str = "done") -> int:
    return sum(event.tokens for event in talk.events if isinstance(event, Restored) and event.stage == stage)


def forms(talk: Talk) -> list[bool]:
    """Whether each block is in int8, in the order they were written."""
    return [is_int8(block.name) for block in talk.store.all_blocks()]


def tiers(talk: Talk) -> set[str]:
    return {segment.tier for segment in talk.session.runtime.kv_event().segments}
