"""One branch of a conversation, searchable: passages in, the block that helps to answer a question out.

Knows nothing of SQLite, sessions or prompts. Why its own index and not the store's FTS5: the score of a row
needs the counts of each term in the rows around it, which FTS5 does not give, and a branch is only a part of
what the store indexes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from chatkv.memory.recall.block import BRIEF_TOKENS, Block
from chatkv.memory.recall.demand import asks_back
from chatkv.memory.recall.index import Floats, Index
from chatkv.memory.recall.meaning import Meaning
from chatkv.memory.recall.newer import corrections, lifted, newer_statements
from chatkv.memory.recall.records import NOTHING, Found, Passage
from chatkv.memory.recall.scoring import Relevance, relevance, shortened
from chatkv.memory.recall.told import told
from chatkv.memory.recall.words import terms_of

# What scores less than this share of the best is left out, even if there is room for it. What goes beyond a brief block
# must score this share of what the best few do.
_MIN_OF_BEST, _MIN_OF_FEW, _BEST_FEW = 0.35, 0.6, 5
# A message that does not ask for what was said gets this share of the room, but at least so many tokens, and only for
# what states something, holds so much of the message, and more than only repeats it.
_SHARE, _LEAST_ROOM = 0.25, 64
_MIN_OWN, _MIN_OF_BEST_UNASKED = 0.3, 0.7
# Where the words of a question find little, this share of the room is for what the user told, but at most so much.
_TOLD_SHARE, _MOST_TOLD_TOKENS = 0.4, 160
_MAX_CANDIDATES = 256
_MAX_COUNTED = 4096
# With little room, what only stands beside something relevant counts for less.
_NEIGHBOUR_FACTOR = 0.5


class Archive:
    """What can be recalled on one branch of a conversation. Without a `meaning`, words match only themselves."""

    def __init__(self, meaning: Meaning | None = None) -> None:
        self._index = Index(meaning)
        self._counted: tuple[Callable[[str], int], Callable[[str], int]] | None = None

    def update(self, passages: Sequence[Passage]) -> None:
        """Hold exactly these passages, in the order of the branch. Costs by what is new."""
        self._index.update(passages)

    def learn(self, passages: Iterable[Passage], most: int) -> int:
        """Read up to `most` of `passages` that are new, ahead of an `update` with them; how many were."""
        return self._index.learn(passages, most)

    def search(
        self,
        question: str,
        *,
        exclude: Collection[int],
        budget: int,
        count: Callable[[str], int],
        by_hand: bool = False,
    ) -> Found:
        """What is relevant to `question`, in at most `budget` tokens as `count` counts.

        Passages whose key is in `exclude` are never recalled. The text is empty if nothing is relevant. A
        statement is recalled only together with newer ones on the same subject, unless these are excluded. Little
        is recalled for a message that does not ask for what was said or for a document, unless looked up by hand.
        """
        index, question = self._index, shortened(question)
        found = relevance(index, question, exclude)
        in_document = _in_document(index, found.scores)
        asks = by_hand or asks_back(question) or in_document
        if not asks:
            budget = min(budget, max(_LEAST_ROOM, int(_SHARE * budget)))
            found.scores[~_tells(index, question, found)] = 0
        allowed = index.allowed(exclude)
        own = told(index, question, found, allowed) if asks and not in_document else []
        if not found.scores.any() and not own:
            return NOTHING
        newer = newer_statements(index, found.scores, found.own)
        if budget < BRIEF_TOKENS:
            found.scores[found.own == 0] *= _NEIGHBOUR_FACTOR
        scores = np.where(allowed, lifted(found.scores, newer), 0)
        block = Block(index, budget, count, self._cost(count))
        candidates = _candidates(scores, _MIN_OF_BEST if asks else _MIN_OF_BEST_UNASKED)
        worth = _MIN_OF_FEW * float(scores[candidates[:_BEST_FEW]].mean()) if candidates else 0.0
        mates = (mate for taken in candidates if asks and taken in block for mate in _mates(index, taken))
        room = budget - (min(_TOLD_SHARE * budget, _MOST_TOLD_TOKENS) if own else 0)
        for positions in (candidates, candidates, mates):
            for position in positions:
                if block.used >= room or (block.used >= BRIEF_TOKENS and scores[position] < worth):
                    continue
                if allowed[position] and all(n in block or not allowed[n] for n in newer.get(position, ())):
                    block.add(position)
            best = block.settle()
        for position in own:
            if all(block.add(n) for n in corrections(index, position) if allowed[n]):
                block.add(position)
        return block.settle() if own else best

    def _cost(self, count: Callable[[str], int]) -> Callable[[str], int]:
        """`count` that remembers lines: much of what is relevant to a message is so to the next."""
        if self._counted is None or self._counted[0] != count:
            self._counted = count, functools.lru_cache(maxsize=_MAX_COUNTED)(count)
        return self._counted[1]


def _in_document(index: Index, scores: Floats) -> bool:
    """Whether a document has most to say: who keeps one does so to work with it."""
    return index.rows[int(scores.argmax())].passage.role == "document" if len(scores) else False


def _tells(index: Index, question: str, found: Relevance) -> NDArray[np.bool_]:
    """Which rows state something that is much of `question` and does not only repeat it."""
    terms = set(terms_of(question))
    near = ~index.asks_only & (found.own >= _MIN_OWN * found.asked)
    for position in np.flatnonzero(near):
        row = index.rows[position]
        near[position] = not terms.issuperset(terms_of(row.stated))
    return near


def _mates(index: Index, position: int) -> list[int]:
    """What stands beside a row in its round: the question to an answer, the answer to a question."""
    turn = index.rows[position].passage.turn
    beside = (n for n in (position - 1, position + 1) if 0 <= n < len(index.rows))
    return [n for n in beside if turn and index.rows[n].passage.turn == turn]


def _candidates(scores: Floats, share: float) -> list[int]:
    """Positions worth recalling, best first; of equals the newest."""
    newest_first = np.flatnonzero(scores > 0)[::-1]
    ranked = newest_first[np.argsort(-scores[newest_first], kind="stable")[:_MAX_CANDIDATES]]
    floor = max(float(scores.max(initial=0)) * share, 1e-9)
    best: list[int] = ranked[scores[ranked] >= floor].tolist()
    return best
