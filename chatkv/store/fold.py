"""Texts as search sees them: without case, accents, punctuation and control characters. Knows nothing of SQL.

A folded text has three kinds of characters: spaces, characters of words, and dense ones, each of which can be found
alone: scripts that write no spaces between words, and symbols such as emoji.
"""

from __future__ import annotations

import re
import unicodedata

# Thai to Tibetan, Myanmar, Hangul, Khmer, kana, bopomofo, Yi, private use, and the ideographs of all planes;
# then signs of Latin-1, of the blocks from punctuation to arrows and dingbats, and emoji.
DENSE = (
    "\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7ff\ue000-\uf8ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
    "\u00a1-\u00bf\u00d7\u00f7\u2000-\u2bff\u3000-\u303f\U0001f000-\U0001fbff"
)
"""Characters that are found one by one, for a regular expression's class."""

_IS_DENSE = re.compile(f"[{DENSE}]")
_UNSEARCHABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_JOINERS = re.compile("[\u200b-\u200f\u2060\ufe00-\ufe0f]")


class _Fold(dict[int, str]):
    """Character to what stands for it, for `str.translate`: mostly one character, none for an accent or a joiner."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if unicodedata.category(char) == "Cf" or _ACCENTS.match(char) or _JOINERS.match(char):
            self[code] = ""
            return ""
        lower = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
        bare = unicodedata.normalize("NFC", _ACCENTS.sub("", lower))
        kept = "".join(part if _is_kept(part) else " " for part in bare)
        self[code] = kept if kept.strip() else " "
        return self[code]


_FOLD = _Fold()


def plain(text: str) -> str:
    """`text` composed (NFC), with spaces for control characters and lone surrogates."""
    return _UNSEARCHABLE.sub(" ", unicodedata.normalize("NFC", text))


def fold(text: str) -> str:
    """What of `text` can be searched for. The same for `plain(text)`: control characters become spaces here, too."""
    return unicodedata.normalize("NFC", text).translate(_FOLD)


def origins(line: str) -> list[int] | None:
    """For each character of `fold(line)`, and for its end, the place in `line`; None where all places are the same."""
    if all(len(_FOLD[ord(char)]) == 1 for char in set(line)):
        return None
    lengths = [len(_FOLD[ord(char)]) for char in line]
    places = [place for place, length in enumerate(lengths) for _ in range(length)]
    return [*places, len(lengths)]


def recipe() -> str:
    """Names the rules of folding: an index made by others is made anew. They depend on Python's Unicode tables."""
    return f"1/{unicodedata.unidata_version}"


def _is_kept(char: str) -> bool:
    kind = unicodedata.category(char)[0]
    if kind in "PZ":
        return False
    if kind == "C":
        return unicodedata.category(char) in ("Co", "Cn")
    return kind != "S" or _IS_DENSE.match(char) is not None
