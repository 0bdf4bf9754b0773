"""Which words mean something alike, told from the token embeddings that a chat model has anyway.

The raw table says little: all its rows lean the same way. Without their mean and the directions they share most,
neighbours are kin (Mu and Viswanath, "All-but-the-Top", 2018). Plain numpy; knows nothing of models or passages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_SHARED_DIRECTIONS, _ITERATIONS = 2, 24
_SAMPLE, _PAIRED = 8192, 512
# Two words are kin if they are this many standard deviations more alike than any two tokens are.
_DEVIATIONS = 4.0


class Meaning:
    """Vectors of words. `rows(ids)`: embeddings [n, dim] of token ids below `n_rows`; `encode`: the ids of a text."""

    def __init__(
        self, rows: Callable[[Sequence[int]], Floats], n_rows: int, encode: Callable[[str], Sequence[int]]
    ) -> None:
        self._rows = rows
        self._encode = encode
        sample = rows(range(0, n_rows, max(1, n_rows // _SAMPLE)))
        self._mean = sample.mean(axis=0)
        centred = sample - self._mean
        self._shared = _main_directions(centred)
        some = self._bare(sample[:: max(1, len(sample) // _PAIRED)])
        alike = (some @ some.T)[np.triu_indices(len(some), 1)]
        self.kin_from = float(alike.mean() + _DEVIATIONS * alike.std()) if len(alike) else 1.0
        """How alike two words must be to count as kin; 1 is the same."""

    def vectors(self, words: Sequence[str]) -> Floats:
        """Vectors [n, dim]; the product of two is how alike the words are. Of length 1, or 0 for a word that takes
        more than one token: it is spelled, and its pieces say little of it.
        """
        ids = [self._encode(f" {word}") for word in words]
        found = self._bare(self._rows([each[0] if len(each) == 1 else 0 for each in ids]))
        found[[len(each) != 1 for each in ids]] = 0
        return found

    def _bare(self, rows: Floats) -> Floats:
        centred = rows - self._mean
        return _unit(centred - (centred @ self._shared) @ self._shared.T)


def _main_directions(centred: Floats) -> Floats:
    """The directions [dim, few] along which the rows differ most, by subspace iteration."""
    start = np.random.default_rng(0).standard_normal((centred.shape[1], _SHARED_DIRECTIONS))
    directions = np.linalg.qr(start.astype(np.float32))[0]
    for _ in range(_ITERATIONS):
        directions = np.linalg.qr(centred.T @ (centred @ directions))[0]
    return np.asarray(directions, np.float32)


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-9), np.float32)
