"""A long text in pieces that can be recalled one by one, cut where a reader would. Knows nothing of documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# Where a text may be cut, best first: after a paragraph, a line, a sentence, a clause, a word.
_BORDERS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n[^\S\n]*\n\s*",
        r"\n\s*",
        r"[.!?…][\"'”’)\]]*\s+|[。！？]+[」』”]?",
        r"[,;:]\s+|[，、；：]",
        r"\s+",
    )
)
# No tokenizer makes tokens of text this long on the average: what is longer needs no count to be cut.
_CHARS_PER_TOKEN = 16


def cut_passages(text: str, count: Callable[[str], int], size_tokens: int = 160) -> list[str]:
    """`text` in pieces of at most `size_tokens` tokens as `count` counts; joined they give it back.

    A piece is larger only where a single character is. Pieces are cut at paragraphs, else at lines, sentences,
    clauses or words, and about as large as that allows.
    """
    return list(_pieces(text, count, size_tokens, 0))


def _pieces(text: str, count: Callable[[str], int], size: int, level: int) -> Iterator[str]:
    if _size(text, count, size) <= size:
        if text:
            yield text
        return
    if level == len(_BORDERS):
        yield from _by_characters(text, count, size)
        return
    pack, used = "", 0
    for unit in _units(text, _BORDERS[level]):
        n = _size(unit, count, size)
        if pack and used + n > size:
            yield from _pieces(pack, count, size, level + 1)
            pack, used = "", 0
        pack, used = pack + unit, used + n
    yield from _pieces(pack, count, size, level + 1)


def _units(text: str, border: re.Pattern[str]) -> Iterator[str]:
    start = 0
    for match in border.finditer(text):
        yield text[start : match.end()]
        start = match.end()
    if start < len(text):
        yield text[start:]


def _by_characters(text: str, count: Callable[[str], int], size: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        n = size
        while n > 1 and count(text[start : start + n]) > size:
            n //= 2
        yield text[start : start + n]
        start += n


def _size(text: str, count: Callable[[str], int], size: int) -> int:
    return size + 1 if len(text) > size * _CHARS_PER_TOKEN else count(text)
