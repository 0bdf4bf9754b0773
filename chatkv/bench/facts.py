"""A scripted conversation with planted facts: what was said, what is asked for afterwards, what has to be known.

Knows nothing of how a conversation is remembered; it only reads the text that stood before the model.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from chatkv.errors import UsageError

PLANTED = Path(__file__).with_name("facts.json")
"""The set that comes with chatkv: 72 turns, forty facts."""

_THOUSANDS = re.compile(r"(?<![\d.,:])\d{1,3}(?:[,'\u2019\u00a0\u202f]\d{3})+(?![\d:])")
_WORDLESS_SCRIPTS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_FOLLOWING = (
    "Let us stop here for today. What did we talk about?",
    "We talked about what you have told me and what you wanted to know. We can go on from there next time.",
)

Verdict = Literal["held", "missing", "only superseded"]


@dataclass(frozen=True, slots=True)
class Superseded:
    """A value that was true until a later turn corrected it; `values` are its spellings."""

    turn: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """What turn `turn` (the first is 1) states, what is asked about it, and the spellings that answer it."""

    turn: int
    kind: str
    question: str
    values: tuple[str, ...]
    superseded: tuple[Superseded, ...] = ()


@dataclass(frozen=True, slots=True)
class Planted:
    """A conversation, the facts in it, and a message and its answer that could follow."""

    system: str
    turns: tuple[str, ...]
    facts: tuple[Fact, ...]
    following: tuple[str, str] = _FOLLOWING


def load(file: Path = PLANTED) -> Planted:
    """Read a set of planted facts. Raises `UsageError` that names what is wrong with the file."""
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        planted = Planted(
            str(table.get("system", "")),
            tuple(table["turns"]),
            tuple(map(_fact, table["facts"])),
            _following(table.get("following", _FOLLOWING)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{file} is not a set of planted facts: {error}.",
            'Each fact has "turn", "kind", "question", "value" and perhaps "superseded"; see facts.json.',
        ) from error
    turns = [
        number for fact in planted.facts for number in (fact.turn, *(old.turn for old in fact.superseded))
    ]
    if outside := [number for number in turns if not 1 <= number <= len(planted.turns)]:
        raise UsageError(f"{file}: a fact names turn {outside[0]}, but there are {len(planted.turns)} turns.")
    return planted


def holds(text: str, value: str) -> bool:
    """Whether `value` stands in `text` as a word of its own, whatever its case and the way it groups digits."""
    needle = _plain(value)
    if not needle:
        return False
    if _WORDLESS_SCRIPTS.search(needle):
        return needle in _plain(text)
    before, after = r"(?<!\w)", r"(?!\w)"
    if needle[0].isdigit():
        before += r"(?<!\d[.,:])"
    if needle[-1].isdigit():
        after += r"(?![.,:]\d)"
    return re.search(before + re.escape(needle) + after, _plain(text)) is not None


def verdict(prompt_text: str, fact: Fact) -> Verdict:
    """What a model that reads `prompt_text` can know of `fact`."""
    if any(holds(prompt_text, value) for value in fact.values):
        return "held"
    old = (value for superseded in fact.superseded for value in superseded.values)
    return "only superseded" if any(holds(prompt_text, value) for value in old) else "missing"


def _plain(text: str) -> str:
    joined = _THOUSANDS.sub(lambda found: re.sub(r"\D", "", found[0]), text)
    return " ".join(unicodedata.normalize("NFKC", joined).casefold().split())


def _fact(table: dict[str, Any]) -> Fact:
    superseded = tuple(
        Superseded(int(old["turn"]), _values(old["value"])) for old in table.get("superseded", ())
    )
    return Fact(
        int(table["turn"]), str(table["kind"]), str(table["question"]), _values(table["value"]), superseded
    )


def _following(pair: Sequence[str]) -> tuple[str, str]:
    message, answer = pair
    return str(message), str(answer)


def _values(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
