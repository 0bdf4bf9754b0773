"""The part of a found message worth showing: one line, with the places of the matches in it.

Knows nothing of SQL. Each word is marked where it matches best: whole, else beginning a word, else inside words.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from chatkv.store.fold import fold, origins, plain
from chatkv.store.grams import anywhere, beginning, whole

_MAX_CHARS = 200
_LEAD_CHARS = 40
_MAX_MATCHES = 500

Spans = tuple[tuple[int, int], ...]


def cut(text: str, words: Sequence[str]) -> tuple[str, Spans]:
    """At most 200 characters of `text`, where most different matches are, and where these lie.

    Only the last of `words` is marked as a beginning; any is marked inside words.
    """
    line = plain(text)
    spans = _matches(line, words)
    start = max(0, _best_start(line, spans) - _LEAD_CHARS)
    stop = start + _MAX_CHARS
    inside = [(low - start, min(high, stop) - start) for low, high in spans if start <= low < stop]
    return line[start:stop], tuple(inside)


def _matches(line: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where `words` lie in `line`: ascending, overlapping ones joined."""
    folded, places = fold(line), origins(line)
    found: set[tuple[int, int]] = set()
    for word in words:
        for low, high in _best_spans(word, folded, last=word is words[-1]):
            # One character may have become two, of which only one matched: it is marked whole.
            found.add((low, high) if places is None else (places[low], places[high - 1] + 1))
    joined: list[tuple[int, int]] = []
    for low, high in sorted(found):
        if joined and low < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _best_spans(word: str, folded: str, *, last: bool) -> list[tuple[int, int]]:
    forms = (whole, beginning, anywhere) if last else (whole, anywhere)
    for form in forms:
        spans = [match.span() for match in islice(form(word).pattern.finditer(folded), _MAX_MATCHES)]
        if spans:
            return spans
    return []


def _best_start(line: str, spans: list[tuple[int, int]]) -> int:
    """Where the first match begins from which most different ones fit into a snippet."""
    best, most = 0, 0
    for first, (start, _) in enumerate(spans):
        near = spans[first : first + _MAX_CHARS]
        last = start + _MAX_CHARS - _LEAD_CHARS
        n_different = len({line[low:high].lower() for low, high in near if high <= last})
        if n_different > most:
            best, most = start, n_different
    return best
