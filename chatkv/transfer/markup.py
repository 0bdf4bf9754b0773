"""The marks by which a conversation in Markdown can be read back exactly, whatever is said in it.

A mark is a comment on a line of its own, which Markdown does not show. A line of text that looks like one gets a
backslash in front. Characters that do not survive in a text file are written as `&#N;`, and the mark says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OPENING = "<!-- chatkv conversation 1 -->"
CLOSING = "<!-- chatkv end -->"
ESCAPED = "escaped"

_LOOKS_LIKE_MARK = re.compile(r"^(\\*<!-- chatkv )", re.MULTILINE)
_GUARDED = re.compile(r"^\\(\\*<!-- chatkv )", re.MULTILINE)
_MARK = re.compile(r"<!-- chatkv ([a-z]+)((?: [^ ]+)*) -->")
# What a terminal obeys, an editor changes, or UTF-8 has no form for.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_AMBIGUOUS = re.compile(r"&(?=amp;|#\d+;)")
_ENTITY = re.compile(r"&(?:amp|#(\d{1,7}));")


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark: the kind of section that begins, and words about it."""

    kind: str
    words: tuple[str, ...] = ()

    def line(self) -> str:
        """The mark as it stands in the file."""
        return f"<!-- chatkv {' '.join((self.kind, *self.words))} -->"


def mark_in(line: str) -> Mark | None:
    """The mark that `line` is, if it is one."""
    found = _MARK.fullmatch(line)
    return Mark(found[1], tuple(found[2].split())) if found else None


def guarded(text: str) -> tuple[str, bool]:
    """`text` as it can stand in a file, and whether characters in it were written as entities."""
    escaped = _ODD.search(text) is not None
    if escaped:
        text = entities(text)
    return _LOOKS_LIKE_MARK.sub(r"\\\1", text), escaped


def unguarded(text: str, *, escaped: bool) -> str:
    """What `guarded` was given."""
    text = _GUARDED.sub(r"\1", text)
    return plain(text) if escaped else text


def entities(text: str) -> str:
    """`text` with odd characters, and what would read as one written so, as entities."""
    text = _AMBIGUOUS.sub("&amp;", text)
    return _ODD.sub(lambda found: f"&#{ord(found[0])};", text)


def one_line(text: str) -> str:
    """`entities`, line feeds and tabs included."""
    return re.sub(r"[\t\n]", lambda found: f"&#{ord(found[0])};", entities(text))


def plain(text: str) -> str:
    """What `entities` or `one_line` was given."""
    return _ENTITY.sub(lambda found: "&" if found[1] is None else _character(found), text)


def _character(found: re.Match[str]) -> str:
    code = int(found[1])
    return chr(code) if code <= 0x10FFFF else found[0]
