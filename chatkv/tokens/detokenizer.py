"""Ids → text one id at a time, never half a character, with the way back from a character to its id.

Knows nothing of what the text means.
"""

from __future__ import annotations

import bisect
import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatkv.tokens.codec import Codec


class Detokenizer:
    """Text of the ids fed so far. Hidden control tokens have no text unless they are in `shown`."""

    def __init__(self, codec: Codec, shown: frozenset[int] = frozenset()) -> None:
        self.ids: list[int] = []
        self._bytes_of = codec.byte_feed(shown)
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._drops_space = codec.drops_first_space
        self._texts: list[str] = []
        self._ends: list[int] = []  # characters up to and including each id
        self._settled: list[bool] = []  # whether each id has text and ends where a character ends
        self.n_chars = 0

    def feed(self, token_id: int) -> str:
        """The text that became certain with `token_id`."""
        data = self._bytes_of(token_id)
        text = self._add(self._utf8.decode(data))
        self.ids.append(token_id)
        self._ends.append(self.n_chars)
        self._settled.append(bool(data) and not self._utf8.getstate()[0])
        return text

    def finish(self) -> str:
        """The rest: bytes that waited for more become U+FFFD."""
        return self._add(self._utf8.decode(self._bytes_of(None), final=True))

    def id_at(self, char: int) -> int:
        """Index of the id in which character number `char` begins."""
        index = bisect.bisect_right(self._ends, char)
        while index and not self._settled[index - 1]:
            index -= 1
        return index

    def text_from(self, index: int, char: int) -> str:
        """Text from the beginning of id number `index` up to character number `char`."""
        return "".join(self._texts)[self._ends[index - 1] if index else 0 : char]

    def _add(self, text: str) -> str:
        if text and self._drops_space:
            text, self._drops_space = text.removeprefix(" "), False
        self._texts.append(text)
        self.n_chars += len(text)
        return text
