"""The words of an archive that mean something like those of a question. Knows nothing of rows or scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chatkv.memory.recall.meaning import Floats, Meaning

_MOST = 8
_ROOM = 1024


class Kin:
    """The vocabulary of one archive; without a `meaning` no word has kin."""

    def __init__(self, meaning: Meaning | None) -> None:
        self._meaning = meaning
        self._words: dict[str, str] = {}
        self._terms: list[str] = []
        self._vectors: Floats | None = None

    def learn(self, words: Mapping[str, str]) -> None:
        """Terms with a word each that stands for them."""
        for term, word in words.items():
            if len(term) > 1 and term.isalpha():
                self._words.setdefault(term, word)

    def of(self, words: Mapping[str, str]) -> dict[str, list[tuple[str, float]]]:
        """For terms and their words: other terms that were learned, with how alike they are (0 to 1), closest first."""
        asked = [term for term in words if len(term) > 1 and term.isalpha()]
        if self._meaning is None or not asked or not self._words:
            return {}
        known = self._known(self._meaning)
        found: dict[str, list[tuple[str, float]]] = {}
        for term, alike in zip(
            asked, self._meaning.vectors([words[term] for term in asked]) @ known.T, strict=True
        ):
            near = np.flatnonzero(alike > self._meaning.kin_from)
            closest = near[np.argsort(-alike[near], kind="stable")].tolist()
            others = [(self._terms[n], float(alike[n])) for n in closest if self._terms[n] != term]
            found[term] = others[:_MOST]
        return found

    def _known(self, meaning: Meaning) -> Floats:
        """Vectors of all learned terms; room for them grows by halves."""
        held, terms = len(self._terms), list(self._words)
        if held < len(terms):
            new = meaning.vectors([self._words[term] for term in terms[held:]])
            if self._vectors is None or len(terms) > len(self._vectors):
                larger = np.zeros((len(terms) + len(terms) // 2 + _ROOM, new.shape[1]), np.float32)
                if self._vectors is not None:
                    larger[:held] = self._vectors[:held]
                self._vectors = larger
            self._vectors[held : len(terms)] = new
            self._terms = terms
        assert self._vectors is not None
        return self._vectors[: len(terms)]
