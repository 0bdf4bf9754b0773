"""Which tokens are prefilled for the first time, told from those that the model had read before.

Compares what the KV holds at the end of each turn with what it held at the end of earlier ones; text is known by
its owner (turn and kind), so a stretch that moved is still the same stretch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chatkv.kv.ledger import common_prefix
from chatkv.tokens import Segment

_Owner = tuple[str, int]


class Again:
    """`first` tokens were prefilled because they were new; `prefilled` - `first` were prefilled again.

    New are: what the user said, what a template puts around it, recalled text, and what a summary does not share
    with the summary before it. An answer is new only as far as it was not decoded. Tokens of an owner beyond the
    most that it ever had are new; all others were read before.
    """

    def __init__(self) -> None:
        self.first = 0
        self.prefilled = 0
        self._most: dict[_Owner, int] = {}
        self._summary: Sequence[int] = ()

    def turn(
        self, ids: Sequence[int], segments: Iterable[Segment], turn: int, *, prefilled: int, decoded: int
    ) -> None:
        """Turn `turn` ended: the KV holds `ids`. `prefilled` were fed for its prompt, early or not; `decoded` after."""
        held: dict[_Owner, int] = {}
        summary: list[int] = []
        start = 0
        for segment in segments:
            end = start + segment.n_tokens
            if segment.kind == "summary":
                summary += ids[start:end]
            else:
                owner = (_merged(segment.kind), segment.turn)
                held[owner] = held.get(owner, 0) + segment.n_tokens
            start = end
        new = sum(max(0, n_tokens - self._most.get(owner, 0)) for owner, n_tokens in held.items())
        if summary:
            new += len(summary) - common_prefix(self._summary, summary)
            self._summary = summary
        self._most |= {owner: max(n, self._most.get(owner, 0)) for owner, n in held.items()}
        self.prefilled += prefilled
        self.first += new - decoded

    @property
    def again(self) -> int:
        """Tokens that were prefilled though the model had read them before."""
        return self.prefilled - self.first


def _merged(kind: str) -> str:
    """While an answer grows, its thoughts are not told from it."""
    return "answer" if kind == "thought" else kind
