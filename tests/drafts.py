"""Drafts under test: what is typed into a conversation before it is sent, and time that passes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from talk import Talk

from chatkv.session import drafting


@contextmanager
def time_since_typing(seconds: float) -> Iterator[None]:
    """Inside, the last letter was typed so long ago (0: just now; else long enough to be at rest)."""
    before, drafting.REST_S = drafting.REST_S, 0.0 if seconds else 3600.0
    try:
        yield
    finally:
        drafting.REST_S = before


def write(talk: Talk, text: str, *, rest: bool = True, n_steps: int = 10_000) -> None:
    """Let `text` be what is being written, and idle time pass: a pause (`rest`), or the moment between two letters."""
    talk.session.drafting.write(text)
    with time_since_typing(float(rest)):
        idle(talk, n_steps)


def idle(talk: Talk, n_steps: int = 10_000) -> None:
    """Idle work as a host does it: what is owed to the conversation first."""
    talk.idle(n_steps)
    events = talk.events
    upkeep, draft = talk.session.upkeep, talk.session.drafting
    while n_steps and (upkeep.has_work or draft.has_work):  # on a slow machine, upkeep is due in between
        events += (upkeep if upkeep.has_work else draft).step()
        talk.check_lengths()
        n_steps -= 1
    assert talk.runtime.engine.cache.reserved_bytes <= (
        talk.runtime.engine.limit_tokens * talk.loaded.bytes_per_token + talk.spare_bytes
    )


def n_drafted(talk: Talk) -> int:
    """Tokens in the KV for the draft's sake."""
    return talk.runtime.engine.ledger.n_drafted
