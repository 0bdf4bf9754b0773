"""Conversations under test whose KV is left on disk, and what came back of it."""

from __future__ import annotations

from pathlib import Path

from talk import Talk
from tiny import reference_model, tiny_loaded

from chatkv.protocol import Restored

LONG = "the quick brown fox jumps over the lazy dog and " * 6


def a_talk(kind: str, file: Path) -> Talk:
    return Talk(tiny_loaded(kind), file, reference=reference_model(kind), chunk=64)


def held(talk: Talk, n_turns: int = 3) -> None:
    """A conversation of some blocks and a tail, left as a person leaves it."""
    for n in range(n_turns):
        talk.say(f"{n} {LONG}")
        talk.idle()
    leave(talk)


def leave(talk: Talk) -> None:
    talk.do(talk.session.upkeep.put_away())


def restored(talk: Talk, stage: str = "done") -> list[Restored]:
    return [event for event in talk.events if isinstance(event, Restored) and event.stage == stage]
