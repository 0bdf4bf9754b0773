"""The token truth: which ids are in the KV cache, in order, and who owns them. Plain Python, no tensors.

The ledger never decides what should be cached. It says what is, and how much of a new prompt that covers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from chatkv.tokens import Segment

_STRIDE = 512
_TIERS = ("E0", "E1", "E2", "E3")
_E2 = _TIERS.index("E2")


class Ledger:
    """Ids whose keys and values are in the KV, cut into segments.

    `low` is the shortest the ledger has been since `mark()`: what lies below it is older than the mark, what
    lies above was fed after it. That is how tokens prefilled early are told from tokens reused.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._segments: list[Segment] = []
        self._tiers = bytearray()
        self.low = 0

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> Sequence[int]:
        """The ids themselves; treat as read-only."""
        return self._ids

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Runs of ids with one owner and one tier; their lengths add up to the ledger's."""
        if not any(self._tiers):
            return tuple(self._segments)
        runs: list[Segment] = []
        start = 0
        for owner in self._segments:
            for tier, group in itertools.groupby(self._tiers[start : start + owner.n_tokens]):
                runs.append(Segment(owner.kind, owner.turn, len(list(group)), _TIERS[tier]))
            start += owner.n_tokens
        return tuple(runs)

    @property
    def n_drafted(self) -> int:
        """How many ids at the end belong to a message that is not sent: what drafts may take out again."""
        last = self._segments[-1] if self._segments else None
        return last.n_tokens if last is not None and last.kind == "draft" else 0

    def retier(self, start: int, end: int, tier: str) -> None:
        """The ids from `start` to `end` are of exactness `tier` from now on."""
        assert 0 <= start <= end <= len(self._ids)
        self._tiers[start:end] = bytes([_TIERS.index(tier)]) * (end - start)

    def first_of(self, tier: str) -> int | None:
        """Where the first id of exactness `tier` stands."""
        at = self._tiers.find(_TIERS.index(tier))
        return None if at < 0 else at

    def shared(self, ids: Sequence[int]) -> int:
        """Length of the longest common prefix of the ledger and `ids`."""
        return common_prefix(self._ids, ids)

    def append(self, ids: Sequence[int], kind: str, turn: int) -> None:
        """Ids that were just fed. The last segment grows if it has the same owner.

        What was computed from inexact tokens is as inexact as they are.
        """
        if not ids:
            return
        self._ids.extend(ids)
        self._tiers.extend(bytes([_E2 if _E2 in self._tiers else 0]) * len(ids))
        last = self._segments[-1] if self._segments else None
        if last is not None and (last.kind, last.turn) == (kind, turn):
            self._segments[-1] = Segment(kind, turn, last.n_tokens + len(ids))
        else:
            self._segments.append(Segment(kind, turn, len(ids)))

    def restore(self, ids: Sequence[int], tier: str = "E0") -> None:
        """Ids whose keys and values came from elsewhere, as they once were or (E2) nearly so: nothing was fed for them.

        If all that stands before them is older than the mark, so are they.
        """
        start, is_old = len(self), self.low == len(self)
        self.append(ids, "wrapper", 0)
        self.retier(start, len(self), tier)
        if is_old:
            self.low = len(self)

    def truncate(self, n: int) -> None:
        """Forget all but the first `n` ids."""
        assert 0 <= n <= len(self._ids), f"cannot keep {n} of {len(self._ids)}"
        del self._ids[n:], self._tiers[n:]
        self._segments = clip(self._segments, n)
        self.low = min(self.low, n)

    def relabel(self, segments: Iterable[Segment]) -> None:
        """Take the owners of a rendering whose ids start with the ledger's own; labels beyond are cut off."""
        clipped = clip(segments, len(self._ids))
        assert sum(segment.n_tokens for segment in clipped) == len(self._ids), "labels must cover the ledger"
        self._segments = clipped

    def copy(self, n: int) -> Ledger:
        """A ledger of the first `n` ids, owners and tiers included."""
        twin = Ledger()
        twin._ids, twin._tiers = self._ids[:n], self._tiers[:n]
        twin._segments = clip(self._segments, n)
        return twin

    def renewed(self, n: int) -> None:
        """`n` ids that were old have been computed anew: they count as no older than the mark."""
        self.low = max(0, self.low - n)

    def mark(self) -> None:
        """Start counting from here: everything in the ledger now is old."""
        self.low = len(self._ids)


def clip(segments: Iterable[Segment], n: int) -> list[Segment]:
    """The segments of the first `n` ids; empty ones are left out."""
    kept: list[Segment] = []
    for segment in segments:
        size = min(segment.n_tokens, n)
        if size > 0:
            kept.append(Segment(segment.kind, segment.turn, size))
        n -= size
    return kept


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Length of the longest common prefix. Whole strides are compared at once: 100k ids take a few ms."""
    limit = min(len(a), len(b))
    start = 0
    while start + _STRIDE <= limit and list(a[start : start + _STRIDE]) == list(b[start : start + _STRIDE]):
        start += _STRIDE
    while start < limit and a[start] == b[start]:
        start += 1
    return start
