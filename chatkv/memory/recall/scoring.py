"""How relevant each row is to a question: BM25 at two widths, who is asked about, and when.

BM25 of the row itself and of the nine rows around it are added: a question's words are often spread over what
was said before and after. Words that mean something alike count by how alike they are. k1 and b are the usual ones
(Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009); the other parameters are
round numbers on wide plateaus.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chatkv.memory.recall.answers import wanted
from chatkv.memory.recall.dates import dates_in, nearness
from chatkv.memory.recall.index import Floats, Index
from chatkv.memory.recall.words import is_spaceless, words_of

_K1, _B = 1.2, 0.75
_REACH = 4
_AROUND_SHARE, _NEIGHBOUR_SHARE = 0.5, 0.3
_SPEAKER_FACTOR = 1.3
# What nine rows must hold of the question, or nothing is relevant: a share of it, or of a long one this much.
_MIN_SHARE, _ENOUGH = 0.2, 20.0
# And this much at least: about one word that is in no more than one row of seven.
_MIN_HELD = 2.0
# And the best row must score this share of what the question's words weigh, or it is about something else. Half of
# all this is enough for a question that asks for a name, a number or a date: whoever asks so, asks for what was said.
_LEAST_SCORE = 0.5
_ASKS_FACTOR, _MODEL_FACTOR, _KIND_FACTOR = 0.3, 0.5, 1.3
_DATE_SCORE = 2.0
_MAX_TERMS = 32
_MAX_CHARS = 8000

_ASKED = re.compile(r"[?？]\s*$")
_SPOKEN_BY = {
    "user": re.compile(r"\b(?:i|my|me|mine|myself)\b", re.IGNORECASE),
    "assistant": re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE),
}


@dataclass(frozen=True, slots=True)
class Relevance:
    """Scores of all rows (0: not relevant), and how much of the question each holds by itself, of `asked` in all."""

    scores: Floats
    own: Floats
    asked: float


def relevance(index: Index, question: str, exclude: Collection[int]) -> Relevance:
    """Score every row for `question`. Passages in `exclude` score nothing, and lend nothing to their neighbours."""
    n = len(index.rows)
    allowed = index.allowed(exclude).astype(np.float32)
    near = nearness(dates, index.times) if (dates := dates_in(question)) else np.zeros(n, np.float32)
    words = _words(index, question)
    weights = {term: index.weight(term) for term in words}
    kin = index.kin.of(words)
    scores, own, held = (np.zeros(n, np.float32) for _ in range(3))
    norm, norm_around = _norm(index.lengths), _norm(_around(index, index.lengths))
    for term, weight in weights.items():
        row = np.zeros(n, np.float32)
        positions, counts = index.counts(term)
        row[positions] = counts
        for other, alike in kin.get(term, ()):
            positions, _ = index.counts(other)
            row[positions] = np.maximum(row[positions], alike * min(1.0, index.weight(other) / weight))
        row *= allowed
        around = _around(index, row)
        scores += weight * (_saturate(row, norm) + _AROUND_SHARE * _saturate(around, norm_around))
        own += weight * np.minimum(row, 1)
        held += weight * np.minimum(around, 1)
    asked = sum(weights.values())
    # Without spaces there are no words, and so no function words to leave out: what occurs nowhere asks for nothing.
    sought = sum(w for term, w in weights.items() if index.frequency(term) or not is_spaceless(term))
    scores = _spread(index, scores)
    ease = 0.5 if wanted(question) and _ASKED.search(question) else 1.0
    enough = held.max(initial=0) >= ease * max(min(_MIN_SHARE * asked, _ENOUGH), _MIN_HELD)
    if not enough or scores.max(initial=0) < ease * _LEAST_SCORE * sought:
        scores[:] = 0
    scores *= _speaker_factors(index, question) * _answer_factors(index, question) * (1 + near)
    return Relevance((scores + _DATE_SCORE * (near >= 0.5)) * allowed, own, asked)


def _around(index: Index, values: Floats) -> Floats:
    """Sums over `_REACH` rows to either side, within the sitting."""
    positions = np.arange(len(values))
    low = np.maximum(positions - _REACH, index.starts)
    high = np.minimum(positions + _REACH + 1, index.ends)
    sums: NDArray[np.float64] = np.append(0.0, np.cumsum(values, dtype=np.float64))
    return np.array(sums[high] - sums[low], np.float32)


def _saturate(counts: Floats, norm: Floats) -> Floats:
    return counts * (_K1 + 1) / (counts + norm)


def _norm(lengths: Floats) -> Floats:
    mean = max(float(lengths.mean()), 1.0) if len(lengths) else 1.0
    return (_K1 * (1 - _B + _B * lengths / mean)).astype(np.float32)


def _words(index: Index, question: str) -> dict[str, str]:
    """The question's terms with the word of each; of a long one, the rarest known."""
    words = dict(words_of(question))
    if len(words) > _MAX_TERMS:
        known = sorted((term for term in words if index.frequency(term)), key=index.frequency)
        words = {term: words[term] for term in known[:_MAX_TERMS]}
    return words


def shortened(question: str) -> str:
    """Both ends of a very long question: that is where people say what they want."""
    half = _MAX_CHARS // 2
    return question if len(question) <= _MAX_CHARS else f"{question[:half]} {question[-half:]}"


def _spread(index: Index, scores: Floats) -> Floats:
    """Lend each row a share of its neighbours' scores: an answer belongs to its question."""
    same = index.sitting[1:] == index.sitting[:-1]
    lent = scores.copy()
    lent[1:] += _NEIGHBOUR_SHARE * scores[:-1] * same
    lent[:-1] += _NEIGHBOUR_SHARE * scores[1:] * same
    return lent


def _speaker_factors(index: Index, question: str) -> Floats:
    """More for what was said by whom the question asks about: a name, "I" or "you"."""
    folded = question.casefold()
    asked = [f"{name}:" for name in index.speakers if re.search(rf"\b{re.escape(name)}\b", folded)]
    roles = [role for role, pattern in _SPOKEN_BY.items() if pattern.search(question)]
    factors = np.ones(len(index.rows), np.float32)
    for speaker in asked + (roles if len(roles) == 1 else []):
        factors[index.said_by(speaker)] = _SPEAKER_FACTOR
    return factors


def _answer_factors(index: Index, question: str) -> Floats:
    """Less for what only asks, and for what the model said of itself; more for what the question asks to hear."""
    factors = np.where(index.asks_only, np.float32(_ASKS_FACTOR), np.float32(1))
    if not _SPOKEN_BY["assistant"].search(question):
        factors[index.said_by("assistant")] *= _MODEL_FACTOR
    if kind := wanted(question):
        factors[index.holding(kind)] *= _KIND_FACTOR
    return factors
