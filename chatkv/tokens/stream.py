"""Sampled ids → pieces of thought and answer, as soon as they are certain.

Stop strings and think tags may be split over tokens. End tokens are the caller's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from chatkv.tokens.detokenizer import Detokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatkv.tokens.codec import Codec

PieceKind = Literal["answer", "thought"]
Piece = tuple[PieceKind, str]


class TextStream:
    """Decodes the ids of one answer.

    A thought is what stands between `think_tags` at the very beginning (or before the closing tag, if
    `in_thought`); tags, and the white space around them, belong to neither thought nor answer. Stop strings
    end an answer, never a thought; of several, the one that is complete first counts.
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
        self._open_tag, self._close_tag = think_tags or ("", "")
        in_tags = (item for tag in think_tags or () for item in codec.lex(tag))
        self._decoder = Detokenizer(codec, frozenset(item for item in in_tags if isinstance(item, int)))
        self._mode: Literal["start", "thought", "gap", "answer"] = "answer"
        if think_tags:
            self._mode = "thought" if in_thought else "start"
        self._thinks = False
        self._held = ""
        self._answer_char = 0
        self._stop_char: int | None = None

    @property
    def stopped(self) -> bool:
        """Whether a stop string was found; what is fed after that does not count."""
        return self._stop_char is not None

    @property
    def answer_start(self) -> int:
        """Index of the first id of the visible answer; the number of ids while a thought is going on."""
        if self._mode in ("thought", "gap"):
            return len(self._decoder.ids)
        return self._decoder.id_at(self._answer_char) if self._answer_char else 0

    @property
    def kept(self) -> int:
        """Number of fed ids whose text lies wholly before the stop string."""
        return len(self._decoder.ids) if self._stop_char is None else self._decoder.id_at(self._stop_char)

    @property
    def tail_text(self) -> str:
        """What the next id holds of the text before the stop string."""
        return "" if self._stop_char is None else self._decoder.text_from(self.kept, self._stop_char)

    @property
    def kept_ids(self) -> tuple[int, ...]:
        """The ids to store: those before the stop string, and its id's remaining text tokenized anew."""
        tail = self._codec.encode_plain(self.tail_text, after="text" if self.kept else "start")
        return (*self._decoder.ids[: self.kept], *tail)

    def feed(self, token_id: int) -> list[Piece]:
        """Take one id; return the text that became certain."""
        if self.stopped:
            return []
        self._held += self._decoder.feed(token_id)
        return self._advance(final=False)

    def finish(self) -> list[Piece]:
        """No more ids: return the text that was held back."""
        if self.stopped:
            return []
        self._held += self._decoder.finish()
        return self._advance(final=True)

    def _advance(self, *, final: bool) -> list[Piece]:
        pieces: list[Piece] = []
        if self._mode == "start":
            self._leave_start(final=final)
        if self._mode == "thought" and (thought := self._take_thought(final=final)):
            pieces.append(("thought", thought))
        if self._mode == "gap":
            self._leave_gap()
        if self._mode == "answer" and (answer := self._take_answer(final=final)):
            pieces.append(("answer", answer))
        return pieces

    def _leave_start(self, *, final: bool) -> None:
        bare = self._held.lstrip()
        if bare.startswith(self._open_tag):
            self._held, self._mode = bare.removeprefix(self._open_tag), "thought"
        elif final or not self._open_tag.startswith(bare):
            self._mode = "answer"

    def _take_thought(self, *, final: bool) -> str:
        if not self._thinks:
            self._held = self._held.lstrip()
        thought, tag, rest = self._held.partition(self._close_tag)
        if tag:
            self._held, self._mode = rest, "gap"
            return thought.rstrip()
        end = len(self._held) if final else len(self._held) - _begun(self._held, [self._close_tag])
        # White space waits: it is part of the thought only if more of the thought follows.
        certain = self._held[:end].rstrip()
        self._held = self._held[len(certain) :]
        self._thinks = self._thinks or bool(certain)
        return certain

    def _leave_gap(self) -> None:
        self._held = self._held.lstrip()
        if self._held:
            self._answer_char = self._decoder.n_chars - len(self._held)
            self._mode = "answer"

    def _take_answer(self, *, final: bool) -> str:
        found = [(at + len(stop), at) for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if found:
            _, end = min(found)
            self._stop_char = self._decoder.n_chars - len(self._held) + end
        else:
            end = len(self._held) if final else len(self._held) - _begun(self._held, self._stops)
        text, self._held = self._held[:end], "" if found else self._held[end:]
        return text


def _begun(text: str, wanted: Iterable[str]) -> int:
    """Length of the longest end of `text` with which one of `wanted` begins."""
    longest = 0
    for whole in wanted:
        for n in range(min(len(whole) - 1, len(text)), longest, -1):
            if text.endswith(whole[:n]):
                longest = n
                break
    return longest
