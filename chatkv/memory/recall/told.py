"""What the user told about their own affairs that may answer a question whose words find little.

Who asks about what they said often uses none of its words: "What car have I got?", "I drive an old Berlingo." Where
few such statements are there, those of the kind that is asked for are worth more than what only shares a common word.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from chatkv.memory.recall.answers import wanted
from chatkv.memory.recall.dates import dates_in
from chatkv.memory.recall.index import Index
from chatkv.memory.recall.scoring import Relevance

_OWN = re.compile(r"\b(?:i|my|me|mine|we|our|us|ours)\b", re.I)
# A row that holds this share of the question has found it. Of more statements than this, a few would be any few.
_FOUND, _MOST = 0.5, 64


def told(index: Index, question: str, found: Relevance, allowed: NDArray[np.bool_]) -> list[int]:
    """Positions of such statements with a name, number or date in them, the shortest first; often none."""
    if not _OWN.search(question) or dates_in(question) or found.own.max(initial=0) >= _FOUND * found.asked:
        return []
    kind = wanted(question)
    rows = [(n, index.rows[n]) for n in index.said_by("user").tolist() if allowed[n]]
    fitting = [
        (len(row.stated), n) for n, row in rows if row.stated and (kind in row.kinds if kind else row.kinds)
    ]
    return [n for _, n in sorted(fitting)] if len(fitting) <= _MOST else []
