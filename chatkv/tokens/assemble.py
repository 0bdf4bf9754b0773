"""Template text, message text and sampled ids → one list of ids with segments.

Text between two control tokens is tokenized together, as it would be in the whole prompt. No piece of text
crosses a control token or ids that are already fixed, so what stands before a piece never depends on it.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from typing import TYPE_CHECKING

from chatkv.tokens.codec import scrub
from chatkv.tokens.segments import Rendered, Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatkv.tokens.codec import Codec
    from chatkv.tokens.fold import Span
    from chatkv.tokens.plain import After

Owner = tuple[str, int]
_LONG_CHARS = 500
"""Longer pieces are few in a conversation; what is written right now is a new one at every pause."""


class Pieces:
    """Tokenizes pieces of text, and remembers them: a conversation repeats all but its newest."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._short = functools.lru_cache(maxsize=8192)(self._encode)
        self._long = functools.lru_cache(maxsize=64)(self._encode)
        self.lex = functools.lru_cache(maxsize=1024)(self._lex)
        self.controls = codec.controls

    def _lex(self, glue: str) -> tuple[int | str, ...]:
        return tuple(self._codec.lex(glue))

    def encode(self, texts: tuple[str, ...], after: After) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Ids of the joined `texts`, and how many of them belong to each text."""
        is_long = sum(map(len, texts)) > _LONG_CHARS
        return (self._long if is_long else self._short)(texts, after)

    def _encode(self, texts: tuple[str, ...], after: After) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """As `encode`. A token that reaches over a border belongs to the later text."""
        clean = [scrub(text) for text in texts]
        ids = self._codec.encode_plain("".join(clean), after=after)
        if len(clean) == 1:
            return tuple(ids), (len(ids),)
        ends = list(itertools.accumulate(map(self._codec.nbytes_of, ids)))
        sizes = list(itertools.accumulate(len(text.encode()) for text in clean))
        invented = max(0, ends[-1] - sizes[-1]) if ends else 0
        borders = [bisect.bisect_right(ends, size + invented) for size in sizes[:-1]] + [len(ids)]
        return tuple(ids), tuple(b - a for a, b in itertools.pairwise([0, *borders]))


class Assembly:
    """A prompt under construction."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._ids: list[int] = []
        self._runs: list[tuple[Owner, int]] = []
        self._open: list[tuple[Owner, str]] = []
        self._after: After = "start"

    def glue(self, text: str, owner: Owner) -> None:
        """Add text that the template wrote."""
        for item in self._pieces.lex(text):
            if isinstance(item, int):
                self._flush(eaten_right=self._pieces.controls[item].lstrip)
                self._put((item,), owner)
                self._after = "control"
            else:
                self._open.append((owner, item))

    def spans(self, spans: Sequence[Span]) -> None:
        """Add text of a message."""
        self._open += [((span.kind, span.turn), span.text) for span in spans if span.text]

    def block(self, ids: Sequence[int], owner: Owner) -> None:
        """Add ids that are fixed."""
        self.settle()
        self._put(ids, owner)

    def settle(self) -> None:
        """End the piece: what follows is tokenized by itself."""
        self._flush()
        self._after = "text"

    def drop_open(self) -> None:
        """Forget the piece that is not tokenized yet."""
        self._open.clear()

    def finish(self) -> Rendered:
        """The prompt."""
        self._flush()
        runs = itertools.groupby(self._runs, key=lambda run: run[0])
        segments = (Segment(kind, turn, sum(n for _, n in group)) for (kind, turn), group in runs)
        return Rendered(tuple(self._ids), tuple(segments))

    def _flush(self, *, eaten_right: bool = False) -> None:
        texts = [text for _, text in self._open]
        if eaten_right:
            _strip(texts, at_start=False)
        if self._after == "control" and self._pieces.controls[self._ids[-1]].rstrip:
            _strip(texts, at_start=True)
        ids, counts = self._pieces.encode(tuple(texts), self._after) if any(texts) else ((), ())
        start = 0
        for (owner, _), n in zip(self._open, counts, strict=False):
            self._put(ids[start : start + n], owner)
            start += n
        self._open.clear()

    def _put(self, ids: Sequence[int], owner: Owner) -> None:
        if ids:
            self._ids += ids
            self._runs.append((owner, len(ids)))


def _strip(texts: list[str], *, at_start: bool) -> None:
    """Drop white space at one end of the joined `texts`."""
    for n in range(len(texts)) if at_start else reversed(range(len(texts))):
        texts[n] = texts[n].lstrip() if at_start else texts[n].rstrip()
        if texts[n]:
            return
