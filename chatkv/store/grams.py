"""The pieces by which a text is indexed and a query looked up. Knows nothing of SQL.

A word is indexed whole (`=cache`), by its beginning (`^c`, `^ca`) and by all its triples (`cac`, `ach`, `che`); a
dense character alone and with the next one. Every text that holds a query has all of the query's pieces, so the index
gives a superset, and the text itself decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from chatkv.store.fold import DENSE, fold

_TOKEN = re.compile(f"[^ {DENSE}]+|[{DENSE}]+")
_WORD = re.compile(f"[^ {DENSE}]+")
_RUN = re.compile(f"[{DENSE}]+")
_BEFORE, _AFTER = f"(?<![^ {DENSE}])", f"(?![^ {DENSE}])"
_MAX_WORD = 40
_SHORT = 3
"""Letters from which a piece of a word is found anywhere in it; fewer are found at its beginning."""


@dataclass(frozen=True, slots=True)
class Needle:
    """One form of one word of a query: the pieces that a text must have, and the pattern that decides."""

    pieces: frozenset[str]
    pattern: re.Pattern[str]


def pieces_of(text: str) -> set[str]:
    """All pieces by which `text` is indexed."""
    folded = fold(text)
    words = set(_WORD.findall(folded))
    pieces = {f"={word[:_MAX_WORD]}" for word in words}
    for word in words:
        pieces |= _beginning(word)
        pieces.update(map("".join, zip(word, word[1:], word[2:])))  # noqa: B905
    for run in set(_RUN.findall(folded)):
        pieces.update(run)
        pieces.update(map("".join, pairwise(run)))
    return pieces


def whole(word: str) -> Needle:
    """`word` as a word, or several that follow each other, as in `kv_cache`."""
    return _needle(word, open_start=False, open_end=False)


def beginning(word: str) -> Needle:
    """The same, but the last word of it may go on."""
    return _needle(word, open_start=False, open_end=True)


def anywhere(word: str) -> Needle:
    """`word` as a piece of words: of fewer than three letters, at a word's beginning."""
    return _needle(word, open_start=True, open_end=True)


def tokens_of(word: str) -> list[str]:
    """The words and the runs of dense characters of `word`, folded."""
    return _TOKEN.findall(fold(word))


def _needle(word: str, *, open_start: bool, open_end: bool) -> Needle:
    tokens = tokens_of(word)
    pieces: set[str] = set()
    pattern, before = "", ""
    for index, token in enumerate(tokens):
        dense = _RUN.match(token) is not None
        pattern += (" *" if dense or before != "word" else " +") if index else ""
        before = "run" if dense else "word"
        if dense:
            pieces.update(token)
            pieces.update(map("".join, pairwise(token)))
            pattern += re.escape(token)
            continue
        # A short piece alone would have nothing to be looked up by; one that others follow has those.
        starts = not (open_start and index == 0 and (len(token) >= _SHORT or len(tokens) > 1))
        ends = not (open_end and index == len(tokens) - 1)
        pattern += (_BEFORE if starts else "") + re.escape(token) + (_AFTER if ends else "")
        pieces |= _pieces_of_token(token, starts=starts, ends=ends)
    return Needle(frozenset(pieces), re.compile(pattern))


def _pieces_of_token(token: str, *, starts: bool, ends: bool) -> set[str]:
    if starts and ends:
        return {f"={token[:_MAX_WORD]}"}
    triples = set(map("".join, zip(token, token[1:], token[2:])))  # noqa: B905
    return triples | (_beginning(token) if starts else set())


def _beginning(word: str) -> set[str]:
    return {f"^{word[:1]}", f"^{word[:2]}"}
