"""One branch of a conversation, searchable: passages in, the block that helps to answer a question out.

Knows nothing of SQLite, sessions or prompts. Why its own index and not the store's FTS5: the score of a row
needs the counts of each term in the rows around it, which FTS5 does not give, and a branch is only a part of
what the store indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from chatkv.memory.recall.block import BRIEF_TOKENS, Block
from chatkv.memory.recall.index import Index
from chatkv.memory.recall.meaning import Meaning
from chatkv.memory.recall.newer import lifted, newer_statements
from chatkv.memory.recall.records import NOTHING, Found, Passage
from chatkv.memory.recall.scoring import relevance

# What scores less than this share of the best is left out, even if there is room for it.
_MIN_OF_BEST = 0.35
_MAX_CANDIDATES = 256
# With little room, what only stands beside something relevant counts for less.
_NEIGHBOUR_FACTOR = 0.5


class Archive:
    """What can be recalled on one branch of a conversation. Without a `meaning`, words match only themselves."""

    def __init__(self, meaning: Meaning | None = None) -> None:
        self._index = Index(meaning)

    def update(self, passages: Sequence[Passage]) -> None:
        """Hold exactly these passages, in the order of the branch. Costs by what is new."""
        self._index.update(passages)

    def search(
        self, question: str, *, exclude: Collection[int], budget: int, count: Callable[[str], int]
    ) -> Found:
        """What is relevant to `question`, in at most `budget` tokens as `count` counts.

        Passages whose key is in `exclude` are never recalled. The text is empty if nothing is relevant. A
        statement is recalled only together with newer ones on the same subject, unless these are excluded.
        """
        index = self._index
        found = relevance(index, question, exclude)
        if not found.scores.any():
            return NOTHING
        newer = newer_statements(index, found.scores, found.own)
        allowed = index.allowed(exclude)
        if budget < BRIEF_TOKENS:
            found.scores[found.own == 0] *= _NEIGHBOUR_FACTOR
        scores = np.where(allowed, lifted(found.scores, newer), 0)
        block = Block(index, budget, count)
        candidates = _candidates(scores)
        mates = (mate for taken in candidates if taken in block for mate in _mates(index, taken))
        for positions in (candidates, candidates, mates):
            for position in positions:
                if allowed[position] and all(n in block or not allowed[n] for n in newer.get(position, ())):
                    block.add(position)
            best = block.settle()
        return best


def _mates(index: Index, position: int) -> list[int]:
    """What stands beside a row in its round: the question to an answer, the answer to a question."""
    turn = index.rows[position].passage.turn
    beside = (n for n in (position - 1, position + 1) if 0 <= n < len(index.rows))
    return [n for n in beside if turn and index.rows[n].passage.turn == turn]


def _candidates(scores: np.ndarray[tuple[int], np.dtype[np.float32]]) -> list[int]:
    """Positions worth recalling, best first; of equals the newest."""
    newest_first = np.argsort(-scores[::-1], kind="stable")[:_MAX_CANDIDATES]
    floor = max(float(scores.max(initial=0)) * _MIN_OF_BEST, 1e-9)
    return [n for n in (len(scores) - 1 - newest_first).tolist() if scores[n] >= floor]
