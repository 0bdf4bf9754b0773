"""What memory events say in words, and how turns are named in a line. Plain functions, no state, no widgets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from chatkv.protocol import (
    Compaction,
    Event,
    Kept,
    Marks,
    PrefixBreak,
    Recalled,
    RecalledRound,
    Restored,
    Saving,
)
from chatkv.tui import units
from chatkv.tui.inert import one_line
from chatkv.tui.talk.exchange import Recollection, Say

_QUOTED = 24
_ORIGINS = {"model": "", "extract": " · summary taken from their sentences", "none": " · no summary"}


def spans(turns: Iterable[int]) -> str:
    """Turns as people write them: `3`, `1–4`, `1–4, 6`; empty for none."""
    parts = []
    numbered = enumerate(sorted(set(turns)))
    for _, run in itertools.groupby(numbered, key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        parts.append(str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}")
    return ", ".join(parts)


def named(turns: Sequence[int]) -> str:
    """`turn 3`, `turns 1–4`; `old turns` where it is not known which."""
    if not turns:
        return "old turns"
    return f"turn{'s' if len(set(turns)) > 1 else ''} {spans(turns)}"


def divider(marks: Marks) -> tuple[int, str] | None:
    """Where the context that stands word for word begins: user message of the last turn before it, and the words.

    None while nothing has left the context.
    """
    gone = [turn for turn in marks.turns if turn.mark in ("summarized", "archived")]
    if not gone:
        return None
    parts = []
    for mark in ("archived", "summarized"):
        turns = [turn.turn for turn in gone if turn.mark == mark]
        if turns:
            parts.append(f"{named(turns)} {'is' if len(turns) == 1 else 'are'} {mark}")
    hint = "/summary" if any(turn.mark == "summarized" for turn in gone) else "/recall"
    return gone[-1].user_id, f"▼ {', '.join(parts)} · {hint}"


def recollection(event: Recalled) -> Recollection:
    """What was recalled, with a title of one line."""
    documents = sum(bool(found.document) for found in event.rounds)
    rounds = len(event.rounds) - documents
    amounts = [units.plural(rounds, "round")] if rounds else []
    if documents:
        amounts.append(units.plural(documents, "passage"))
    title = f"recalled {' and '.join(amounts)} · {units.plural(event.tokens, 'token')}"
    return Recollection(title, "\n\n".join(map(_round, event.rounds)))


def stored_recollection(text: str) -> Recollection | None:
    """What the store says was recalled for an old turn; None for an empty text."""
    return Recollection(f"recalled {units.plural(len(text.split()), 'word')}", text) if text else None


def told(event: Event) -> Say | None:
    """What the person should read about this event; None for one that speaks for itself."""
    match event:
        case Compaction(stage="planned", turns=turns):
            act = f"Memory is filling up: {named(turns)} will be summarized or archived soon."
            return Say(f"{act} /pin {turns[0] if turns else 'N'} keeps a turn word for word.", "warning")
        case Compaction(stage="done"):
            return Say(_done(event))
        case Compaction(stage="given_up", turns=turns, text=why):
            said = f"{named(turns).capitalize()} could not be compacted; nothing has changed. {why}"
            return Say(said.rstrip(), "warning")
        case Compaction(stage="undone", turns=turns):
            stands = f" {named(turns).capitalize()} stand word for word again." if turns else ""
            return Say(f"The newest summary, or change of it, was taken back.{stands}")
        case Kept(name=name, tokens=tokens, passages=passages):
            amount = f"{units.plural(tokens, 'token')} in {units.plural(passages, 'passage')}"
            return Say(
                f"Kept {f'“{name}”' if name else 'the text'} as a document: {amount}. What fits a question is recalled."
            )
        case Restored(stage="done" | "refused"):
            return Say(f"{restored(event)[:1].upper()}{restored(event)[1:]}.")
        case PrefixBreak():
            return Say(broken(event), "warning")
        case Saving(ok=True):
            return Say("Everything is saved again.")
        case Saving(reason=reason):
            return Say(unsaved(reason), "warning")
        case Recalled(rounds=(), by_hand=True):
            return Say("Nothing in the archive of this conversation fits those words.", "warning")
    return None


def restored(event: Restored) -> str:
    """What of the KV came from disk, in what time, or why it did not."""
    if event.stage == "refused":
        return f"the KV on disk is not used: {event.reason.rstrip('.') or 'it does not fit'}"
    if event.stage == "reading":
        return f"reading from disk · {event.tokens:,} of {event.total:,} tokens"
    amount = f" · {units.size(event.n_bytes)}" if event.n_bytes else ""
    time = f"{units.seconds(event.seconds)} s" if event.seconds >= 1 else f"{1000 * event.seconds:.0f} ms"
    return f"{event.tokens:,} of {event.total:,} tokens came from disk in {time}{amount}"


def broken(event: PrefixBreak) -> str:
    """Where the KV stopped to fit, what stands there now, what that costs and why it is so."""
    cost = f"{units.plural(event.tokens, 'token')} {'is' if event.tokens == 1 else 'are'} read again"
    where = f"The KV did not hold the prefix from token {event.position:,}: {cost}."
    stood = f"There stood {_quoted(event.expected)}, now {_quoted(event.found)}."
    why = f" {event.reason[:1].upper()}{event.reason[1:].rstrip('.')}." if event.reason else ""
    return f"{where} {stood}{why}"


def unsaved(reason: str) -> str:
    """That nothing reaches the database, and what becomes of it."""
    why = reason.rstrip(".") or "the database cannot be written"
    return f"Not saved: {why}. It is kept in memory and written as soon as that works."


def _done(event: Compaction) -> str:
    how = "rotated" if event.method == "rotated" else "prefilled again"
    size = f"{event.tokens_before:,} → {event.tokens_after:,} tokens"
    took = f"{units.seconds(event.total_s)} s"
    return f"Compacted {named(event.turns)}: {size}, rest {how}, {took}{_ORIGINS[event.origin]}"


def _quoted(text: str) -> str:
    shown = one_line(text)
    return f"“{shown[: _QUOTED - 1]}…”" if len(shown) > _QUOTED else f"“{shown}”" if shown else "nothing"


def _round(found: RecalledRound) -> str:
    where = found.document or named(range(found.first, found.last + 1))
    return f"▸ {where}\n{found.text}"
