"""The words of a branch: which rows hold a term and how often, in the order of the conversation.

A row is a passage, or one piece of a long one. Rows that leave the branch are kept asleep for a while: whoever
switches branches often switches back. Knows nothing of questions or scores.
"""

from __future__ import annotations

import itertools
import math
import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chatkv.memory.passages import cut_passages
from chatkv.memory.recall.answers import Kind, kinds_in, stated
from chatkv.memory.recall.kin import Kin
from chatkv.memory.recall.meaning import Meaning
from chatkv.memory.recall.records import Passage
from chatkv.memory.recall.words import words_of

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

# A piece is about as long as a few spoken sentences: a long answer is recalled in part, a short one whole.
_PIECE_TOKENS = 150
_SITTING_GAP_S = 6 * 3600
_LABEL = re.compile(r"\s*([^\W\d_][\w .'’-]{0,30}):\s")
_MIN_LABELLED = 3
_MAX_ASLEEP = 1000
# A few turns are too few to tell rare words from common ones.
_UNSEEN_ROWS = 50


@dataclass(frozen=True, slots=True)
class Row:
    """What is found: a passage, or a piece of it. `number` counts the pieces of a passage from 0."""

    passage: Passage
    number: int
    text: str
    terms: Counter[str]
    label: str
    """The speaker's name where the text opens with one and a colon."""
    stated: str
    """Those of its sentences that state something; "" if it only asks."""
    kinds: frozenset[Kind]
    """What it holds that a question may ask for."""


class Index:
    """The rows of one branch. Arrays are in the order of the branch: position n is `rows[n]`."""

    def __init__(self, meaning: Meaning | None = None) -> None:
        self.rows: list[Row] = []
        self.kin = Kin(meaning)
        self._numbers: list[int] = []
        self._position = np.zeros(0, np.int64)
        self._forget()

    def learn(self, passages: Iterable[Passage], most: int) -> int:
        """Read up to `most` of `passages` that are new, ahead of an `update` with them; how many were."""
        new = list(itertools.islice((passage for passage in passages if self._is_new(passage)), most))
        for passage in new:
            self._numbers_of(passage)
        asleep = len(self._all) - len(self._position)
        self._position = np.append(self._position, np.full(asleep, -1, np.int64))
        return len(new)

    def update(self, passages: Sequence[Passage]) -> None:
        """Hold exactly `passages`, in this order. Costs by what is new, and little for what is not."""
        numbers = [number for passage in passages for number in self._numbers_of(passage)]
        if numbers == self._numbers:
            return
        if len(self._all) - len(numbers) > len(numbers) + _MAX_ASLEEP:
            self._forget()
            self.update(passages)
            return
        self._numbers = numbers
        self._count_rows(set(numbers))
        self.rows = [self._all[n] for n in numbers]
        self._position = np.full(len(self._all), -1, np.int64)
        self._position[numbers] = np.arange(len(numbers))
        self._lay_out()

    def frequency(self, term: str) -> int:
        """In how many rows `term` occurs."""
        return self._frequency[term]

    def weight(self, term: str) -> float:
        """Inverse document frequency, as if there were `_UNSEEN_ROWS` more rows without the term."""
        n, df = len(self.rows) + _UNSEEN_ROWS, self._frequency[term]
        return math.log(1 + (n - df + 0.5) / (df + 0.5))

    def counts(self, term: str) -> tuple[Ints, Floats]:
        """Positions (ascending) of the rows with `term`, and how often each holds it."""
        if term not in self._laid_out:
            self._laid_out[term] = self._postings_of(term)
        return self._laid_out[term]

    def speaker(self, row: Row) -> str:
        """Who says `row`: a name in small letters and a colon, else the role."""
        return f"{row.label}:" if row.label in self.speakers else row.passage.role

    def holding(self, kind: Kind) -> NDArray[np.bool_]:
        """Which rows hold something of `kind`."""
        if kind not in self._holding:
            self._holding[kind] = np.array([kind in row.kinds for row in self.rows], np.bool_)
        return self._holding[kind]

    def said_by(self, speaker: str) -> Ints:
        """Positions of the rows that `speaker` says."""
        return self._by.get(speaker, np.zeros(0, np.int64))

    def allowed(self, exclude: Collection[int]) -> NDArray[np.bool_]:
        """Which rows have text, of passages that are not in `exclude`."""
        return self._has_text & ~np.isin(self.keys, np.fromiter(exclude, np.int64, len(exclude)))

    def _forget(self) -> None:
        self._all: list[Row] = []
        self._numbers = []
        self._known: dict[int, tuple[Passage, list[int]]] = {}
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._awake: set[int] = set()
        self._frequency: Counter[str] = Counter()
        self.rows = []
        self._position = np.zeros(0, np.int64)
        self._lay_out()

    def _is_new(self, passage: Passage) -> bool:
        known = self._known.get(passage.key)
        return known is None or known[0] != passage

    def _numbers_of(self, passage: Passage) -> list[int]:
        if self._is_new(passage):
            self._known[passage.key] = passage, self._add(passage)
        return self._known[passage.key][1]

    def _add(self, passage: Passage) -> list[int]:
        """Rows of a new passage; returns their numbers."""
        label = _label_of(passage)
        first = len(self._all)
        for number, text in enumerate(cut_passages(passage.text, estimate_tokens, _PIECE_TOKENS) or [""]):
            words = words_of(text)
            self.kin.learn(dict(words))
            terms = Counter(term for term, _ in words)
            for term, n in terms.items():
                numbers, counts = self._postings.setdefault(term, (array("q"), array("q")))
                numbers.append(len(self._all))
                counts.append(n)
            says = text if passage.role == "document" else stated(text)
            self._all.append(Row(passage, number, text, terms, label, says, kinds_in(text)))
        return list(range(first, len(self._all)))

    def _postings_of(self, term: str) -> tuple[Ints, Floats]:
        if term not in self._postings:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        numbers, counts = self._postings[term]
        positions = self._position[np.array(numbers)]
        awake = positions >= 0
        positions, values = positions[awake], np.array(counts, np.float32)[awake]
        if np.all(positions[1:] > positions[:-1]):  # as they are unless a branch was left and taken up again
            return positions, values
        order = np.argsort(positions, kind="stable")
        return positions[order], values[order]

    def _count_rows(self, awake: set[int]) -> None:
        for number in awake - self._awake:
            self._frequency.update(self._all[number].terms.keys())
        for number in self._awake - awake:
            self._frequency.subtract(self._all[number].terms.keys())
        self._awake = awake

    def _lay_out(self) -> None:
        passages = [row.passage for row in self.rows]
        n = len(passages)
        self.keys = np.array([passage.key for passage in passages], np.int64)
        self.times = np.array([passage.created_at for passage in passages], np.float64)
        self._has_text = np.array([not row.text.isspace() and row.text != "" for row in self.rows], np.bool_)
        self.asks_only = np.array([not row.stated for row in self.rows], np.bool_)
        self.lengths = np.array([row.terms.total() for row in self.rows], np.float32)
        self._holding: dict[Kind, NDArray[np.bool_]] = {}
        self._laid_out: dict[str, tuple[Ints, Floats]] = {}
        borders = np.ones(n, np.bool_)
        other = np.array(
            [before.name != passage.name for before, passage in itertools.pairwise(passages)], np.bool_
        )
        borders[1:] = (np.abs(np.diff(self.times)) > _SITTING_GAP_S) | other
        self.sitting = np.cumsum(borders) - 1
        starts = np.flatnonzero(borders)
        self.starts, self.ends = starts[self.sitting], np.append(starts[1:], n)[self.sitting]
        labels = Counter(row.label for row in self.rows if row.label)
        self.speakers = frozenset(label for label, n in labels.items() if n >= _MIN_LABELLED)
        by: dict[str, list[int]] = {}
        for position, row in enumerate(self.rows):
            by.setdefault(self.speaker(row), []).append(position)
        self._by = {speaker: np.array(positions, np.int64) for speaker, positions in by.items()}


def estimate_tokens(text: str) -> int:
    """About as many tokens as `text` takes; exact counts need a model's tokenizer."""
    return len(text) // 4 + 1 if text.isascii() else len(text.encode()) // 3 + 1


def _label_of(passage: Passage) -> str:
    match = _LABEL.match(passage.text) if passage.role != "document" else None
    return match[1].casefold() if match else ""
