"""What kind of text can answer a question: a statement, by whom it is asked about, with what it asks for in it.

Wording only, English first: a question in another language changes nothing. Knows nothing of scores.
"""

from __future__ import annotations

import re
from typing import Literal

from chatkv.memory.recall.dates import MONTHS
from chatkv.memory.summary.cues import asks
from chatkv.memory.summary.text import sentences

Kind = Literal["number", "date", "name"]

_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_HOLDS: dict[Kind, re.Pattern[str]] = {
    "number": re.compile(r"\d"),
    "date": re.compile(
        rf"\d|\b(?:{_DAYS})s?\b|\b(?:{'|'.join(MONTHS)})\b|\b(?:today|yesterday|tomorrow|last|next|ago)\b",
        re.I,
    ),
    "name": re.compile(r"(?<=[^\W\dA-Z_,] )(?!I\b)[A-ZÀ-Þ]\w+"),
}
_WANTS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "number",
        re.compile(
            r"\bhow (?:much|many|far|high|long|old|big|wide|tall|deep|heavy|often)\b"
            r"|\b(?:costs?|price|number|what time)\b",
            re.I,
        ),
    ),
    ("date", re.compile(r"\b(?:when|weekday|since|until|day|date|time|year|month)\b", re.I)),
    ("name", re.compile(r"\b(?:who|whose|whom|names?|called|where)\b|\bwhich (?:town|city|company)\b", re.I)),
)


def wanted(question: str) -> Kind | None:
    """What an answer to `question` holds; None if the wording does not say."""
    return next((kind for kind, pattern in _WANTS if pattern.search(question)), None)


def kinds_in(text: str) -> frozenset[Kind]:
    """What `text` holds of that."""
    return frozenset(kind for kind, pattern in _HOLDS.items() if pattern.search(text))


def stated(text: str) -> str:
    """The sentences of `text` that state something rather than ask for it; "" if there are none."""
    return " ".join(sentence for sentence in sentences(text) if not asks(sentence))
