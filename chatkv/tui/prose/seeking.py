"""Finds words in the turns of a conversation, whatever their case, accents and width.

Plain text and data: knows neither widgets nor the store.
"""

from __future__ import annotations

import bisect
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from chatkv.tui.inert import inert
from chatkv.tui.talk.exchange import Exchange

Part = Literal["prompt", "thought", "answer"]

_PARTS: tuple[Part, ...] = ("prompt", "thought", "answer")
_MARKUP = str.maketrans("", "", "*`")
_ACCENTS = (
    *((0x0300, 0x036F), (0x0591, 0x05C7), (0x064B, 0x065F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF)),
    *((0x20D0, 0x20FF), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0x200B, 0x200F), (0x2060, 0x2064)),
)
"""Marks on letters, and characters without width. The sound marks of Japanese make other letters, and stay."""


class _Folding(dict[int, str]):
    """Each character as it is compared, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        if any(first <= code <= last for first, last in _ACCENTS):
            folded = ""
        elif chr(code).isspace():
            folded = " "
        elif (symbol := inert(chr(code))) != chr(code):
            folded = symbol
        else:
            bare = (c for c in unicodedata.normalize("NFKD", chr(code)) if not _is_accent(c))
            folded = unicodedata.normalize("NFC", "".join(bare)).casefold()
        self[code] = folded
        return folded


def _is_accent(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _ACCENTS)


_FOLDING = _Folding()


def fold(text: str) -> str:
    """`text` as it is compared: `É` as `e`, full-width letters as narrow ones, each white space as a blank."""
    return text.translate(_FOLDING)


def occurrences(folded: str, needle: str) -> Iterator[int]:
    """Where `needle` begins in `folded`, from left to right, without overlap."""
    at = folded.find(needle) if needle else -1
    while at >= 0:
        yield at
        at = folded.find(needle, at + len(needle))


def spans(text: str, needle: str) -> list[tuple[int, int]]:
    """Where the folded `needle` lies in `text`: pairs of offsets in characters of `text`."""
    ends, at = [], 0
    for character in text:
        at += len(fold(character))
        ends.append(at)
    found = occurrences(fold(text), needle)
    return [(bisect.bisect_right(ends, n), bisect.bisect_left(ends, n + len(needle)) + 1) for n in found]


def lines_with(lines: Sequence[str], needle: str) -> list[int]:
    """The line in which each occurrence of the folded `needle` begins; one may go on in the next line."""
    folded = [fold(line.strip()) for line in lines]
    starts, at = [], 0
    for line in folded:
        starts.append(at)
        at += len(line) + 1
    return [bisect.bisect_right(starts, n) - 1 for n in occurrences(" ".join(folded), needle)]


@dataclass(frozen=True, slots=True)
class Match:
    """An occurrence: the `nth` (from 0) in a part of turn `key`, and how far down that part it lies, from 0 to 1."""

    key: int
    part: Part
    nth: int
    depth: float


class Seeker:
    """The words that are looked for, where they are, and which occurrence one is at."""

    def __init__(self) -> None:
        self.needle = ""
        self.matches: list[Match] = []
        self.at: int | None = None
        self._known: dict[int, tuple[Exchange, tuple[str, ...]]] = {}

    @property
    def match(self) -> Match | None:
        """The occurrence that one is at."""
        return self.matches[self.at] if self.at is not None else None

    @property
    def place(self) -> str:
        """`3/17`; empty while nothing is looked for."""
        if not self.needle:
            return ""
        return f"{(self.at or 0) + 1:,}/{len(self.matches):,}" if self.matches else "not found"

    def seek(self, words: str, exchanges: Sequence[Exchange], start: int | None = None) -> Match | None:
        """Look for these words. One stays where one is, if that still fits, or goes to the first match in or below that
        turn (before any: turn `start`)."""
        here = self.match
        self.needle = fold(words)
        self._look(exchanges)
        order = {exchange.key: n for n, exchange in enumerate(exchanges)}
        start = here.key if here is not None else start
        first = order.get(start, 0) if start is not None else 0
        self.at = next((n for n, match in enumerate(self.matches) if self._same(match, here)), None)
        if self.at is None and self.matches:
            self.at = next((n for n, match in enumerate(self.matches) if order[match.key] >= first), 0)
        return self.match

    def look_again(self, exchanges: Sequence[Exchange]) -> None:
        """The turns have changed."""
        here = self.match
        self._look(exchanges)
        self.at = next((n for n, match in enumerate(self.matches) if self._same(match, here)), None)
        if self.at is None and self.matches and here is not None:
            self.at = 0

    def step(self, steps: int) -> Match | None:
        """Go to the match so many below (above, if negative); past an end, on from the other."""
        if self.matches:
            self.at = (self.at + steps) % len(self.matches) if self.at is not None else 0
        return self.match

    def _look(self, exchanges: Sequence[Exchange]) -> None:
        self.matches = []
        if not self.needle.strip():
            self.at = None
            return
        known = {exchange.key: self._folded(exchange) for exchange in exchanges}
        self._known = known
        for key, (_, folded) in known.items():
            for part, text in zip(_PARTS, folded, strict=True):
                if self.needle not in text:
                    text = text.translate(_MARKUP)  # `**two** words` reads as two words
                found = enumerate(occurrences(text, self.needle))
                self.matches += [Match(key, part, nth, at / len(text)) for nth, at in found]

    def _folded(self, exchange: Exchange) -> tuple[Exchange, tuple[str, ...]]:
        known = self._known.get(exchange.key)
        if known is not None and known[0] is exchange:
            return known
        return exchange, (fold(exchange.prompt), fold(exchange.thought), fold(exchange.answer))

    @staticmethod
    def _same(match: Match, here: Match | None) -> bool:
        return here is not None and (match.key, match.part, match.nth) == (here.key, here.part, here.nth)
