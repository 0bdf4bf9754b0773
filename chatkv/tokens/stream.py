"""Sampled ids → text as it becomes certain: UTF-8, stop strings and think tags may be split over tokens.

Knows nothing of models; end tokens are the caller's business.
"""

from __future__ import annotations

import bisect
import codecs
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatkv.tokens.codec import Codec

PieceKind = Literal["answer", "thought"]
Piece = tuple[PieceKind, str]


class TextStream:
    """Decodes the ids of one answer.

    A thought is what stands between `think_tags` at the very beginning (or before the closing tag, if
    `in_thought`); tags and the white space around thought and answer are not part of either. Stop strings end
    the answer only, never a thought; the one that is complete first counts.
    """

    def __init__(
        self,
        codec: Codec,
        *,
        stop: Sequence[str] = (),
        think_tags: tuple[str, str] | None = None,
        in_thought: bool = False,
    ) -> None:
        self._codec = codec
        self._stops = [text for text in stop if text]
        self._tags = think_tags or ("", "")
        tag_ids = frozenset(codec.special[tag] for tag in self._tags if tag in codec.special)
        self._bytes_of = codec.byte_feed(shown=tag_ids)
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._drops_space = codec.drops_first_space
        self._mode: Literal["start", "thought", "gap", "answer"] = "answer"
        if think_tags:
            self._mode = "thought" if in_thought else "start"
        self._ids: list[int] = []
        self._ends: list[int] = []  # characters decoded up to and including each id
        self._whole: list[bool] = []  # whether each id ends at the end of a character
        self._text = ""  # decoded and not yet emitted
        self._n_chars = 0
        self._answer_char = 0
        self._stop_char: int | None = None
        self._since_id_start = ""

    @property
    def stopped(self) -> bool:
        """Whether a stop string was found; nothing fed after that counts."""
        return self._stop_char is not None

    @property
    def answer_start(self) -> int:
        """Index of the first id of the visible answer; the number of ids while there is none."""
        if self._mode in ("thought", "gap") or (self._mode == "start" and self._text.strip()):
            return len(self._ids)
        return self._id_at(self._answer_char) if self._answer_char else 0
