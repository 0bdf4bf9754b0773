"""Corrections: a newer statement on the same subject is recalled before the older one, or neither is.

A newer statement is on the same subject if it holds half of what is rare in the older one; less is enough where
it says that something changed. It is the same speaker's or the user's. Knows nothing of budgets.
"""

from __future__ import annotations

import functools
import re
from itertools import islice

import numpy as np

from chatkv.memory.recall.index import Floats, Index, Row

_CHANGED = re.compile(
    r"\b(?:actually|correction|sorry|no longer|any ?more|instead|rather than|used to|from now on|now|wrong|mistaken?"
    r"|misspoke|new|chang(?:e|ed|ing)|moved|switched|replaced|renamed|updated?|reset|sold|bought|quit|joined|gone|cancell?ed"
    r"|postponed|re(?:booked|scheduled)|slipped)\b"
    r"|jetzt|nicht mehr|doch|maintenant|ne plus|ahora|ya no"
    r"|其实|不再|改成|改为|更正|现在|変更|訂正|今は|이제|바뀌",
    re.IGNORECASE,
)
# Of what the best row holds of the question: rows with this much may answer it, and with this little seem to. What
# corrects the latter must say that something changed.
_ANSWERS, _SEEMS_TO = 0.6, 0.25
# Of the older row's rare terms: what the newer one must hold. If it says that something changed, a rare term, or
# little where it also holds a share of what the older one holds of the question, is enough.
_SAME, _SAME_IF_CHANGED, _LEAST = 0.5, 0.2, 0.15
_ASKED_IF_CHANGED = 0.5
_MIN_SHARED = 2
# Of the weight of a term that occurs nowhere.
_RARE = 0.6
_MAX_SEEDS, _MAX_TERMS, _MAX_NEWER = 12, 12, 2


def newer_statements(index: Index, scores: Floats, own: Floats) -> dict[int, tuple[int, ...]]:
    """Positions of rows that may answer the question → positions of newer rows that may correct them, closest first.

    `own`: how much of the question each row holds.
    """
    most = own.max(initial=0)
    answers = own >= _ANSWERS * most
    seeds = [*_best(np.where(answers, scores, 0)), *_best(np.where(own >= _SEEMS_TO * most, scores, 0))]
    found: dict[int, tuple[int, ...]] = {}
    while seeds and len(found) < 3 * _MAX_SEEDS:  # what corrects may have been corrected, too
        seed = seeds.pop(0)
        if seed not in found:
            found[seed] = _newer_than(index, seed, own, sure_may=bool(answers[seed]))
            seeds += found[seed]
    return {seed: newer for seed, newer in found.items() if newer}


def _best(scores: Floats) -> list[int]:
    some = np.flatnonzero(scores > 0)
    best: list[int] = some[np.argsort(-scores[some], kind="stable")[:_MAX_SEEDS]].tolist()
    return best


def corrections(index: Index, position: int) -> tuple[int, ...]:
    """Positions of newer rows that say something changed and may correct the row at `position`, closest first."""
    return _newer_than(index, position, np.zeros(len(index.rows), np.float32), sure_may=False)


def lifted(scores: Floats, newer: dict[int, tuple[int, ...]]) -> Floats:
    """Scores in which what is newer stands just above what it may correct."""
    lifted = scores.copy()
    for seed in sorted(newer):
        for position in newer[seed]:
            lifted[position] = max(lifted[position], np.nextafter(lifted[seed], np.float32(np.inf)))
    return lifted


def _newer_than(index: Index, seed: int, own: Floats, *, sure_may: bool) -> tuple[int, ...]:
    """Closest first. `sure_may`: what is surely on the same subject counts whether it speaks of a change or not."""
    row = index.rows[seed]
    weights = _weights(index, row)
    places_of = (index.counts(term)[0] for term in weights)
    after = [positions[positions.searchsorted(seed, side="right") :] - seed for positions in places_of]
    places, sizes = np.concatenate([np.zeros(0, np.int64), *after]), [len(positions) for positions in after]
    n_shared = np.bincount(places)
    shares = np.bincount(places, np.repeat(list(weights.values()), sizes))
    rare = _RARE * index.weight("")
    n_rare = sum(weight >= rare for weight in weights.values())  # these come first
    with_rare = np.bincount(places[: sum(sizes[:n_rare])], minlength=len(n_shared)) > 0
    later = np.flatnonzero(n_shared)
    share, held = shares[later] / max(sum(weights.values()), 1e-9), own[seed + later]
    asked = held / max(float(own[seed]), 1e-9)
    same = (share >= _SAME) & (n_shared[later] >= _MIN_SHARED) & (held > 0)
    nearly = ((share >= _SAME_IF_CHANGED) & with_rare[later]) | (
        (share >= _LEAST) & (asked >= _ASKED_IF_CHANGED)
    )
    near = np.flatnonzero(same | nearly)
    closest = near[np.argsort(-(share + np.minimum(asked, 1))[near], kind="stable")].tolist()
    positions = (later + seed).tolist()
    corrections = (
        positions[n]
        for n in closest
        if _may_correct(index, row, positions[n], sure=sure_may and bool(same[n]))
    )
    return tuple(islice(corrections, _MAX_NEWER))


def _may_correct(index: Index, older: Row, position: int, *, sure: bool) -> bool:
    newer = index.rows[position]
    may = index.speaker(newer) in (index.speaker(older), "user")
    return may and (sure or _tells_of_a_change(newer.text))


@functools.lru_cache(maxsize=16384)
def _tells_of_a_change(text: str) -> bool:
    return _CHANGED.search(text) is not None


def _weights(index: Index, row: Row) -> dict[str, float]:
    """The rarest terms of a row with their weights."""
    rarest = sorted(row.terms, key=lambda term: (index.frequency(term), term))
    return {term: index.weight(term) for term in rarest[:_MAX_TERMS]}
