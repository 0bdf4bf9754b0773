"""What a reader takes for one character: a letter with its accents, a flag, a family; grapheme clusters (UAX 29).

Plain functions on one line. No key waits for a long line: only what is near its column is read.
"""

from __future__ import annotations

import functools
import unicodedata
from typing import Any

_JOINING = {"Mn", "Mc", "Me", "Cf", "Sk"}
"""Categories of what may belong to both sides, depending on what stands before it."""


def span(line: str, column: int) -> tuple[int, int]:
    """Start and end of the cluster that `column` is inside of; `column` twice where it is between two."""
    if line.isascii() or not 0 < column < len(line):
        return column, column
    at = _boundary(line, column)
    while at < column:
        end = _cluster().match(line, at).end()
        if end > column:
            return at, end
        at = end
    return column, column


def _boundary(line: str, column: int) -> int:
    """A place at or before `column`, near it, that is surely between two clusters."""
    at = column
    while at > 0:
        before, after = line[at - 1], line[at]
        if _half_flag(before) and _half_flag(after):
            n = _half_flags_before(line, at)
            if n > 1:
                return at - n % 2
        elif unicodedata.category(before) not in _JOINING and not _joined(before, after):
            return at
        at -= 1
    return 0


def _joined(before: str, after: str) -> bool:
    return not (before + after).isascii() and _cluster().match(before + after).end() == 2


def _half_flag(character: str) -> bool:
    """Whether two such in a row are a flag; the third begins another."""
    return "\N{REGIONAL INDICATOR SYMBOL LETTER A}" <= character <= "\N{REGIONAL INDICATOR SYMBOL LETTER Z}"


def _half_flags_before(line: str, column: int) -> int:
    n = 0
    while n < column and _half_flag(line[column - 1 - n]):
        n += 1
    return n


@functools.cache
def _cluster() -> Any:
    import regex  # type: ignore[import-untyped, unused-ignore]  # not needed for the first paint

    return regex.compile(r"\X")
