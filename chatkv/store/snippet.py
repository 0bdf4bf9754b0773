"""The part of a found message worth showing: one line, with the places of the matches in it.

Knows nothing of SQL. FTS5 can mark matches itself, but in time that grows with the square of their number
(seconds for a pasted megabyte). So they are looked for again here, by its tokenizer's rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import islice

# Thai to Tibetan, Myanmar, Hangul, Khmer, kana, bopomofo, Yi, and the ideographs of all planes.
SPACELESS = (
    "\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Characters of scripts without spaces between words, for a regular expression's class."""

_UNSEARCHABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_WORD_CHAR = rf"[^\W_{SPACELESS}]"
_TOKEN = re.compile(rf"{_WORD_CHAR}+|[{SPACELESS}]")
_MAX_CHARS = 200
_LEAD_CHARS = 40
_MAX_MATCHES = 500

Spans = tuple[tuple[int, int], ...]


class _Fold(dict[int, str]):
    """Character to character, for `str.translate`: lower case, and ASCII letters without their accents."""

    def __missing__(self, code: int) -> str:
        base, *marks = list(unicodedata.normalize("NFD", chr(code)))
        accented = base.isascii() and all(map(unicodedata.combining, marks))
        lower = (base if accented else chr(code)).lower()
        self[code] = lower if len(lower) == 1 else chr(code)
        return self[code]


_FOLD = _Fold()


def plain(text: str) -> str:
    """`text` composed (NFC), with spaces for control characters and lone surrogates."""
    return _UNSEARCHABLE.sub(" ", unicodedata.normalize("NFC", text))


def cut(text: str, words: Sequence[str]) -> tuple[str, Spans]:
    """At most 200 characters of `text`, where most different matches are, and where these lie.

    The last of `words` may match the beginning of a longer word.
    """
    line = plain(text)
    spans = _matches(line.translate(_FOLD), [plain(word).translate(_FOLD) for word in words])
    start = max(0, _best_start(line, spans) - _LEAD_CHARS)
    stop = start + _MAX_CHARS
    inside = [(low - start, min(high, stop) - start) for low, high in spans if start <= low < stop]
    return line[start:stop], tuple(inside)


def _matches(folded: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where `words` lie in `folded`: ascending, overlapping ones joined."""
    last = len(words) - 1
    found: set[tuple[int, int]] = set()
    for index, word in enumerate(words):
        pattern = _pattern(word, open_end=index == last)
        found.update(match.span() for match in islice(pattern.finditer(folded), _MAX_MATCHES))
    joined: list[tuple[int, int]] = []
    for low, high in sorted(found):
        if joined and low < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _pattern(word: str, *, open_end: bool) -> re.Pattern[str]:
    tokens = _TOKEN.findall(word)
    last = len(tokens) - 1
    parts = [_token_pattern(token, open_end and index == last) for index, token in enumerate(tokens)]
    return re.compile(r"[\W_]*".join(parts))


def _token_pattern(token: str, open_end: bool) -> str:
    if re.fullmatch(f"[{SPACELESS}]", token):
        return token
    end = "" if open_end else f"(?!{_WORD_CHAR})"
    return f"(?<!{_WORD_CHAR}){re.escape(token)}{end}"


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
