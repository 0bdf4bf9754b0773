"""The words of a summary: the request for one, and what is made of the answer.

The model's own text is taken as far as it is sound; what the user stated and it lacks is put beside it. Knows
nothing of the KV or of when a summary is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from chatkv.memory.summary.choice import Choice
from chatkv.memory.summary.cues import asks, shorten, terse
from chatkv.memory.summary.extract import Source, Statement, excerpt, read
from chatkv.memory.summary.grounding import Judged, judged, sources
from chatkv.memory.summary.settling import settle
from chatkv.memory.summary.text import names, sentences

SAID = "User said:"
ASKED = "User asked:"

_OWN: tuple[Source, ...] = ("said", "user")
_NOT_ASKED = "the model was not asked, or failed"
# Share of the room for the model's text if none of it had to be dropped; else less, by the square of what stayed.
_MODEL_ROOM = 0.7
_TOPIC_ROOM, _TOPIC_WORDS, _TOPIC_CHARS, _TOPICS = 0.25, 9, 60, 4
_LONGEST = 200  # characters of a request that are looked at


@dataclass(frozen=True, slots=True)
class Exchange:
    """One turn that goes."""

    turn: int
    user: str
    answer: str


@dataclass(frozen=True, slots=True)
class Written:
    """A summary; `reason` says why the model's own text was not taken, and is empty if it was."""

    text: str
    origin: Literal["model", "extract"]
    reason: str = ""


def request(extra: str, *, limit_words: int) -> str:
    """The user message that asks for a summary; short, for it is prefilled each time. `extra`: the user's wishes."""
    text = (
        f"Summarize our conversation in at most {limit_words} words, in its language, as short plain lines: facts and"
        " names, numbers and dates, decisions, preferences, open threads. Newer statements replace older ones."
    )
    return f"{text} {extra.strip()}" if extra.strip() else text


def written(
    raw: str | None,
    going: Sequence[Exchange],
    *,
    previous: str,
    edited: str,
    limit: int,
    count: Callable[[str], int],
) -> Written:
    """The summary that stands in for `going` and for the `previous` summary.

    `raw`: what the model wrote, if anything. `edited`: a person's words, which come first and unchanged. The text is
    at most `limit` tokens by `count`, unless `edited` alone is longer: then it is the whole text.
    """
    verdict = _verdict(raw, going, previous, edited)
    before = _before(previous.removeprefix(edited))
    statements = _statements(verdict.lines, going, before, edited)
    room = limit - count(edited)
    choice, all_in = _choice(statements, verdict.share, room, count)
    if not all_in:
        statements = [replace(one, text=terse(one.text)) if one.source in _OWN else one for one in statements]
        choice, _ = _choice(statements, verdict.share, room, count)
    picked = list(choice.picked)
    topics = _topics(going, before.asked, picked, min(choice.room, int(_TOPIC_ROOM * limit)), count)
    text = _laid_out(picked, topics, edited)
    while count(text) > limit and (topics or picked):
        (topics or picked).pop()
        text = _laid_out(picked, topics, edited)
    if any(one.source == "model" for one in picked):
        return Written(text, "model")
    return Written(text, "extract", verdict.reason or "nothing of it was new, or fitted")


@dataclass(frozen=True, slots=True)
class _Before:
    """The parts of a summary that was written here."""

    notes: tuple[str, ...]
    said: tuple[str, ...]
    asked: tuple[str, ...]


def _before(previous: str) -> _Before:
    notes: list[str] = []
    said: list[str] = []
    asked: list[str] = []
    lines = notes
    for line in previous.splitlines():
        if line == SAID:
            lines = said
        elif line.startswith(ASKED):
            asked += [topic.strip() for topic in line.removeprefix(ASKED).split(";")]
        elif line.strip():
            lines.append(line)
    return _Before(tuple(notes), tuple(said), tuple(asked))


def _verdict(raw: str | None, going: Sequence[Exchange], previous: str, edited: str) -> Judged:
    if raw is None:
        return Judged(reason=_NOT_ASKED)
    said = sources([previous, edited, *(turn.user for turn in going)], (turn.answer for turn in going))
    return judged(raw, said, request("", limit_words=0))


def _statements(
    model: Sequence[str], going: Sequence[Exchange], before: _Before, edited: str
) -> list[Statement]:
    """All there is to choose from, oldest first, corrections applied."""
    texts: list[tuple[Source, str]] = [("edited", line) for line in edited.splitlines()]
    texts += [("model", line) for line in model]
    texts += [("notes", line) for line in before.notes]
    texts += [("said", line) for line in before.said]
    texts += [("user", excerpt(turn.user)) for turn in going]
    known = names("\n".join(text for _, text in texts))
    found: list[Statement] = []
    for index, (source, text) in enumerate(texts):
        found += read(text, turn=index, place=len(found), source=source, known=known)
    return settle(found)


def _choice(
    statements: list[Statement], share: float, room: int, count: Callable[[str], int]
) -> tuple[Choice, bool]:
    """Fill the room: what corrects a person's words, then the model's lines, then all that is left.

    Also says whether all that is worth having went in.
    """
    choice = Choice(statements, lambda text: count(text) + 1, room - count(SAID) - 1)
    fixed = [one for one in statements if one.source == "edited"]
    for one in fixed:
        choice.hold(one)
    by_place = {one.place: one for one in statements}
    for place in sorted({place for one in fixed for place in one.needs} & set(by_place)):
        choice.take(by_place[place])
    model = [one for one in statements if one.source == "model"]
    choice.fill(model, leave=int((1 - _MODEL_ROOM * share * share) * choice.room))
    others_in = choice.fill(one for one in statements if one.source not in ("edited", "model"))
    return choice, choice.fill(model) and others_in


def _topics(
    going: Sequence[Exchange],
    asked: Sequence[str],
    picked: Sequence[Statement],
    room: int,
    count: Callable[[str], int],
) -> list[str]:
    """What was asked for last, in a few words each, newest first; what else stands in the summary is left out."""
    taken = {one.text for one in picked}
    said = (part[:_LONGEST] for turn in going[-_TOPICS:] for part in sentences(excerpt(turn.user)))
    recent = [part for part in said if asks(part)]
    topics: list[str] = []
    room -= count(ASKED) + 1
    for part in (*reversed(recent), *reversed(asked)):
        topic = _topic(part)
        room -= count(topic) + 1
        if room < 0 or len(topics) == _TOPICS:
            break
        if topic and topic not in topics and shorten(part) not in taken:
            topics.append(topic)
    return topics


def _topic(question: str) -> str:
    words = shorten(question).rstrip(".?!。？！ ").replace(";", ",").split()
    text = " ".join(words[:_TOPIC_WORDS])
    cut = len(words) > _TOPIC_WORDS or len(text) > _TOPIC_CHARS
    return text[:_TOPIC_CHARS].rstrip(" ,") + ("…" if cut else "")


def _laid_out(picked: Sequence[Statement], topics: Sequence[str], edited: str) -> str:
    notes = _lines(one for one in picked if one.source not in _OWN)
    said = _lines(one for one in picked if one.source in _OWN)
    asked = [f"{ASKED} {'; '.join(reversed(topics))}"] if topics else []
    return "\n".join([*([edited] if edited else []), *notes, *([SAID, *said] if said else []), *asked])


def _lines(statements: Iterable[Statement]) -> list[str]:
    """What was said in one turn on one line."""
    ordered = sorted(statements, key=lambda one: one.place)
    return [" ".join(one.text for one in turn) for _, turn in groupby(ordered, key=lambda one: one.turn)]
