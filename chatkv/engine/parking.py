"""KV of conversations that are not live, kept warm in memory while the budget has room for it.

The live one always comes first: when it grows, the least recently used of these are dropped. What is dropped was
written to disk when its conversation was left, or is computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatkv.kv.cache import LiveCache
from chatkv.kv.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Parked:
    """A ledger and the cache that agrees with it."""

    ledger: Ledger
    cache: LiveCache


class Parking:
    """Parked KV by the name of its conversation, the least recently used first."""

    def __init__(self) -> None:
        self._parked: dict[str, Parked] = {}

    def __len__(self) -> int:
        return len(self._parked)

    @property
    def nbytes(self) -> int:
        """Bytes that all of it takes."""
        return sum(parked.cache.reserved_bytes for parked in self._parked.values())

    def put(self, name: str, parked: Parked) -> None:
        """Keep it, in place of what had that name."""
        self._parked.pop(name, None)
        self._parked[name] = parked

    def take(self, name: str) -> Parked | None:
        """Give it back, if it is still there."""
        return self._parked.pop(name, None)

    def drop_to(self, n_bytes: int) -> None:
        """Drop the least recently used until all of it takes no more than `n_bytes`."""
        while self._parked and self.nbytes > max(0, n_bytes):
            del self._parked[next(iter(self._parked))]

    def most_alike(self, ids: Sequence[int]) -> tuple[Parked | None, int]:
        """The parked KV that begins with most of `ids`, and how many tokens of it are theirs and exact."""
        best: Parked | None = None
        longest = 0
        for parked in self._parked.values():
            moved = parked.ledger.first_of("E2")
            n_same = min(parked.ledger.shared(ids), len(parked.ledger) if moved is None else moved)
            if n_same > longest:
                best, longest = parked, n_same
        return best, longest
