"""A folded conversation, and the template's text with slots, → the ids of a prompt.

Where sampled ids stand, the template's text around them is made to meet them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatkv.tokens.assemble import Assembly, Pieces
from chatkv.tokens.template import Entry, Slot, Template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatkv.tokens.assemble import Owner
    from chatkv.tokens.codec import Codec
    from chatkv.tokens.fold import Content
    from chatkv.tokens.probe import Traits
    from chatkv.tokens.segments import Rendered
    from chatkv.tokens.template import Part

_TAG_IDS = 24  # a tag takes at most so many ids


class Filler:
    """Fills the slots of one template."""

    def __init__(self, codec: Codec, template: Template, traits: Traits, end_ids: frozenset[int]) -> None:
        self._codec = codec
        self._template = template
        self._traits = traits
        self._end_ids = end_ids
        self._pieces = Pieces(codec)

    def fill(self, contents: Sequence[Content], *, answer: bool, until: int = -1) -> Rendered:
        """The prompt; it stops short of the piece that holds the text of message `until`."""
        parts = self._template.parts(tuple(map(_entry, contents)), answer=answer)
        out = Assembly(self._pieces)
        position = 0
        while position < len(parts):
            part = parts[position]
            if isinstance(part, str):
                out.glue(*self._glue(parts, position, contents))
            elif part.index == until:
                out.drop_open()
                break
            else:
                position = self._put(out, parts, position, contents[part.index])
            position += 1
        return out.finish()

    def _put(self, out: Assembly, parts: Sequence[Part], position: int, content: Content) -> int:
        """Put the message at slot `position` in place; return the last position that it covers."""
        slot, message, turn = parts[position], content.message, content.turn
        assert isinstance(slot, Slot)
        if message is None or not message.ids:
            out.spans(content.spans)
            if message is not None:
                out.settle()
            return position
        ids = self._without_end(message.ids)
        if slot.field == "thought":
            out.block(ids[: message.answer_start], ("thought", turn))
            position = _last_of(parts, position, slot.index)
        out.block(ids[message.answer_start :], ("answer", turn))
        return position

    def _glue(self, parts: Sequence[Part], position: int, contents: Sequence[Content]) -> tuple[str, Owner]:
        """The template's text at `position`, made to meet the ids that follow it, and its owner."""
        text = parts[position]
        assert isinstance(text, str)
        if position + 1 == len(parts):
            return text, ("wrapper", contents[-1].turn)
        slot = parts[position + 1]
        assert isinstance(slot, Slot)
        content = contents[slot.index]
        if content.message is not None and content.message.ids:
            first = 0 if slot.field == "thought" else content.message.answer_start
            text = self._before_sampled(text, content.message.ids[first : first + _TAG_IDS])
        return text, ("wrapper", content.spans[0].turn)

    def _before_sampled(self, text: str, ids: Sequence[int]) -> str:
        """The template's `text` before sampled `ids`, without what the model wrote itself or never saw.

        Sampled ids followed the generation prompt. What history puts between the two is dropped if it is only
        white space, or if the ids begin with it (a tag that opens a thought or an answer).
        """
        begin = self._codec.decode_bytes(ids).decode(errors="replace").lstrip()
        prompt = self._traits.prompt_tail
        if text.startswith(prompt.rstrip()) and begin.startswith(text[len(prompt.rstrip()) :].strip()):
            return prompt
        tag = self._traits.think_tags[0] if self._traits.think_tags else ""
        if tag and begin.startswith(tag) and text.rstrip().endswith(tag):
            return text.rstrip().removesuffix(tag)
        return text

    def _without_end(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        end = len(ids)
        while end and ids[end - 1] in self._end_ids:
            end -= 1
        return ids[:end]


def _entry(content: Content) -> Entry:
    message = content.message
    return Entry(
        content.role, has_thought=message is not None and bool(message.ids) and message.answer_start > 0
    )


def _last_of(parts: Sequence[Part], position: int, index: int) -> int:
    """The last position, from `position` on, of a slot of message `index` before another message begins."""
    last = position
    for n in range(position + 1, len(parts)):
        part = parts[n]
        if isinstance(part, Slot):
            if part.index != index:
                break
            last = n
    return last
