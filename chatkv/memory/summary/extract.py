"""What a text states: short statements in the writer's own words, with what makes each worth keeping.

One text at a time; knows nothing of corrections between texts, of room or of models.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from chatkv.memory.summary import cues
from chatkv.memory.summary.text import Key, Mark, marks, sentences, stems

Source = Literal["edited", "model", "notes", "said", "user"]
"""Where it stands: in a person's or the model's summary, in the one before (notes; what the user said), in the chat."""

_HEAD, _TAIL, _PER_TURN = 6000, 2000, 12
_PASTED = 6  # more sentences than that are rarely all the user's own
_NOTED = 1.3  # what a model found worth noting is worth something without names and numbers too
_LONGEST = 400  # characters; what is longer fits in no summary
_TELLS = 1.0  # of worth: then a name at the end is what is told, not who is spoken to
_LEAST_WORDS = 2
_OWN_QUESTION, _QUESTION, _ABOUT_NOBODY = 0.6, 0.25, 0.5
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.S)
_NOISE = re.compile(r"<\|[^|]*\|>|\[/?INST\]|</?s>|[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SLOT = re.compile(
    r".*\b(?:my|our)\s+(favou?rite\s+\w+)\s+(?:is|are|these|now|at)\b|(?:please\s+)?(call me)\b"
    r"|(?:my|our|the)\s+((?:[\w'’-]+\s+){1,4}?(?:is|are)(?:\s+(?:in|at|on|called|from|with|an?))?)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One or two short sentences. `worth` is of the wording alone, without the marks; so are the `stems`.

    `corrects`: it takes something back; `changes`: it may. `slot`: what can have one value only ("dentist is").
    `dead`: marks that it, or a newer statement, took back. `needs`: places of those it must not stand without.
    """

    text: str
    place: int
    turn: int
    source: Source
    worth: float
    marks: tuple[Mark, ...]
    stems: frozenset[str]
    corrects: bool = False
    changes: bool = False
    slot: str = ""
    dead: frozenset[Key] = frozenset()
    needs: frozenset[int] = frozenset()

    @property
    def live(self) -> dict[Key, Mark]:
        """The marks that still hold."""
        return {mark.id: mark for mark in self.marks if mark.id not in self.dead}

    @property
    def denied(self) -> frozenset[str]:
        """Keys of the marks that its own words take back."""
        return keys(cues.denied(self.text), self.marks)

    @property
    def weight(self) -> float:
        """What it is worth if nothing of it is known yet."""
        return self.worth + sum(mark.weight for mark in self.live.values())


def read(text: str, *, turn: int, place: int, source: Source, known: frozenset[str]) -> list[Statement]:
    """The statements of one text, `place` and up; of a very long one the best sentences of its head and tail.

    A question of the user's counts only if it holds a name or number.
    `known`: the names of the conversation, in lower case.
    """
    parts = [part for part in map(_clean, sentences(_FENCED.sub("\n", excerpt(text)))) if part]
    if source not in ("said", "user"):
        found = [_statement(part, turn, source, known) for part in parts]
    else:
        told = [part for part in _joined(parts, known) if not cues.asks(part) or marks(part, known)]
        found = [_told(part, turn, source, known, pasted=len(parts) > _PASTED) for part in told]
        best = sorted(range(len(found)), key=lambda index: -found[index].weight)[:_PER_TURN]
        found = [found[index] for index in sorted(best) if found[index].text]
    return [replace(one, place=place + index) for index, one in enumerate(found)]


def excerpt(text: str) -> str:
    """What is read of a text: all, or the head and tail of a very long one."""
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def keys(denied: str, own: tuple[Mark, ...]) -> frozenset[str]:
    """Keys of the marks in words taken back; `own`: the marks of the statement that takes them back."""
    return (
        frozenset(mark.key for mark in marks(denied, frozenset(mark.key for mark in own)))
        if denied
        else frozenset()
    )


def _told(text: str, turn: int, source: Source, known: frozenset[str], *, pasted: bool) -> Statement:
    """What the user said: without padding, and worth less if it is a question or not about anybody."""
    one = _statement(" ".join(map(cues.shorten, sentences(text))), turn, source, known)
    called = cues.vocatives(one.text) if one.worth < _TELLS else frozenset()
    told = tuple(mark for mark in one.marks if mark.surface not in called)
    factor = 1.0
    if not cues.stands_alone(text) and (not one.stems or len(one.stems) + len(told) < _LEAST_WORDS):
        factor = 0.0
    elif cues.asks(text):
        factor = _OWN_QUESTION if cues.personal(text) else _QUESTION
        one = replace(one, corrects=False, changes=False)
    elif pasted and not cues.personal(text):
        factor = _ABOUT_NOBODY
    lighter = tuple(replace(mark, weight=factor * mark.weight) for mark in told)
    return replace(one, worth=factor * one.worth, marks=lighter)


def _statement(text: str, turn: int, source: Source, known: frozenset[str]) -> Statement:
    held = marks(text, known)
    taken = keys(cues.denied(text), held)
    slot = _SLOT.match(text)
    return Statement(
        text,
        place=0,
        turn=turn,
        source=source,
        worth=cues.value(text) + (0.0 if source in ("user", "said") else _NOTED),
        marks=held,
        stems=stems(text) - stems(" ".join(mark.surface for mark in held)),
        corrects=cues.corrects(text),
        changes=cues.changes(text),
        slot=(slot[1] or slot[2] or slot[3]).lower() if slot else "",
        dead=frozenset(mark.id for mark in held if mark.key in taken),
    )


def _joined(parts: list[str], known: frozenset[str]) -> list[str]:
    """A sentence that takes something back says what holds in the next one more often than not."""
    out: list[str] = []
    open_end = False
    for part in parts:
        if open_end and not cues.asks(part) and (cues.value(part) >= 1.0 or marks(part, known)):
            out[-1] += " " + part
            open_end = False
        else:
            out.append(part)
            open_end = cues.corrects(part) and not cues.asks(part)
    return out


def _clean(sentence: str) -> str:
    plain = sum(char.isalnum() or char.isspace() for char in sentence)
    if _NOISE.search(sentence) or plain < 0.65 * len(sentence):
        return ""
    return " ".join(sentence.lstrip("-*•#>· \t")[:_LONGEST].split())
