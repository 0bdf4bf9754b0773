"""A conversation → the ids of a prompt, by the model's chat template, with sampled answers kept as they were.

Knows nothing of the KV cache: what is reused is found by comparing ids.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from chatkv.tokens.assemble import Assembly, Pieces
from chatkv.tokens.fold import Content, fold
from chatkv.tokens.probe import probe
from chatkv.tokens.segments import Message, Rendered
from chatkv.tokens.stream import TextStream
from chatkv.tokens.template import PLAIN_STOP, Entry, Slot, Template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedTokenizerBase

    from chatkv.tokens.codec import Codec
    from chatkv.tokens.segments import Role
    from chatkv.tokens.template import Part


_TAG_IDS = 24  # a tag takes at most so many ids


class ChatFormat:
    """The chat template of one model. Rendering is a pure function of the messages.

    `end_ids` end an answer (add those of the generation config); `stop_strings` do so where no token can;
    `think_tags` surround a thought; `opens_thought`: the prompt itself ends inside one; `notices` are remarks
    for the user. `today` is the date that templates may print, kept for the life of the object: a prompt that
    changes at midnight would cost the whole cache.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        codec: Codec,
        *,
        thinking: bool,
        today: datetime | None = None,
    ) -> None:
        self._codec = codec
        self._pieces = Pieces(codec)
        self._template = Template(tokenizer, thinking=thinking, today=today or datetime.now())
        self._traits = probe(self._template, codec.special)
        self._trims = self._traits.trims
        if self._traits.system_complaint and "user" in self._trims:
            self._trims |= {"system"}
        self.think_tags = self._traits.think_tags
        self.opens_thought = self._traits.opens_thought
        self.stop_strings = (PLAIN_STOP,) if self._template.is_fallback else ()
        self.end_ids = self._find_end_ids(tokenizer)
        self.notices = tuple(self._find_notices(tokenizer))

    def render(self, messages: Sequence[Message], *, answer: bool) -> Rendered:
        """The ids of `messages`, with the generation prompt if `answer`. No messages, no ids.

        Raises `ModelError` if the template refuses them.
        """
        contents = self._fold(messages)
        if not contents:
            return Rendered((), ())
        return self._assemble(contents, answer=answer)

    def stable_prefix(self, messages: Sequence[Message]) -> Rendered:
        """The ids that every prompt of `messages` and one more user message begins with, whatever it says.

        They end before the piece of text that will hold that message, for its first letters may merge with
        what stands before them.
        """
        following = Message("user", "?", turn=messages[-1].turn + 1 if messages else 1)
        contents = self._fold([*messages, following])
        return self._assemble(contents, answer=True, until=len(contents) - 1)

    def stream(self, stop: Sequence[str] = ()) -> TextStream:
        """A decoder for one answer to a prompt of this format."""
        return TextStream(
            self._codec,
            stop=(*stop, *self.stop_strings),
            think_tags=self.think_tags,
            in_thought=self.opens_thought,
        )

    def _fold(self, messages: Sequence[Message]) -> list[Content]:
        return fold(messages, system_role=not self._traits.system_complaint, trims=self._trims)

    def _assemble(self, contents: Sequence[Content], *, answer: bool, until: int = -1) -> Rendered:
        """Fill the template's slots; stop short of the piece with the text of message `until`."""
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
                position = self._fill(out, parts, position, contents[part.index])
            position += 1
        return out.finish()

    def _fill(self, out: Assembly, parts: Sequence[Part], position: int, content: Content) -> int:
        """Put the message at slot `position` in place; return the last position that it covers."""
        slot, message, turn = parts[position], content.message, content.turn
        assert isinstance(slot, Slot)
        if message is None:
            out.spans(content.spans)
        elif not message.ids:
            out.spans(content.spans)
            out.settle()
        else:
            ids = self._without_end(message.ids)
            if slot.field == "thought":
                out.block(ids[: message.answer_start], ("thought", turn))
                position = _last_of(parts, position, slot.index)
            out.block(ids[message.answer_start :], ("answer", turn))
        return position

    def _glue(
        self, parts: Sequence[Part], position: int, contents: Sequence[Content]
    ) -> tuple[str, tuple[str, int]]:
        """The template's text at `position`, made to meet the ids that follow it, and its owner."""
        text = parts[position]
        assert isinstance(text, str)
        if position + 1 == len(parts):
            return text, ("wrapper", contents[-1].turn)
        slot = parts[position + 1]
        assert isinstance(slot, Slot)
        message = contents[slot.index].message
        if message is not None and message.ids:
            ids = message.ids if slot.field == "thought" else message.ids[message.answer_start :]
            text = self._before_sampled(text, ids)
        return text, ("wrapper", contents[slot.index].spans[0].turn)

    def _before_sampled(self, text: str, ids: Sequence[int]) -> str:
        """The template's `text` before sampled `ids`, without what the model wrote itself or never saw.

        Sampled ids followed the generation prompt. What history puts between the two is dropped if it is only
        white space, or if the ids begin with it (a tag that opens a thought or an answer).
        """
        tail = self._traits.prompt_tail
        begin = self._codec.decode_bytes(ids[:_TAG_IDS]).decode(errors="replace").lstrip()
        if text.startswith(tail.rstrip()) and begin.startswith(text[len(tail.rstrip()) :].strip()):
            return tail
        tag = self.think_tags[0] if self.think_tags else ""
        if tag and begin.startswith(tag) and text.rstrip().endswith(tag):
            return text.rstrip().removesuffix(tag)
        return text

    def _without_end(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        end = len(ids)
        while end and ids[end - 1] in self.end_ids:
            end -= 1
        return ids[:end]

    def _find_end_ids(self, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
        eos = tokenizer.eos_token_id
        ends = set(eos) if isinstance(eos, list) else {eos} - {None}
        for closer in self._traits.closers:
            first = next(iter(self._codec.lex(closer.lstrip())), "")
            if isinstance(first, int) and (first in ends or first != tokenizer.bos_token_id):
                ends.add(first)
        return frozenset(ends)

    def _find_notices(self, tokenizer: PreTrainedTokenizerBase) -> list[str]:
        notices = []
        if self._template.is_fallback:
            notices.append("The model has no chat template: a plain “User: … Assistant: …” format is used.")
        if self._traits.system_complaint:
            notices.append(
                f"System prompts go into the first user message, for {self._traits.system_complaint}."
            )
        if not self._equals_whole(tokenizer):
            notices.append(
                "Prompts are tokenized piece by piece, which differs a little from the whole text."
            )
        return notices

    def _equals_whole(self, tokenizer: PreTrainedTokenizerBase) -> bool:
        """Whether a conversation of texts gets the ids that tokenizing the whole rendered prompt gives."""
        texts = ("Be brief.", "Hello there! 12 + 34 = ?", "It is 46.\n\n- done", "Thanks; 你好 \n  x")
        roles: tuple[Role, ...] = ("system", "user", "assistant", "user")
        start = 1 if self._traits.system_complaint else 0
        messages = [Message(role, text) for role, text in zip(roles, texts, strict=True)][start:]
        content = self._template.form.content
        plain = [{"role": message.role, "content": content(message.text)} for message in messages]
        whole = tokenizer(self._template.text(plain, answer=True), add_special_tokens=False)["input_ids"]
        return list(whole) == list(self.render(messages, answer=True).ids)


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
