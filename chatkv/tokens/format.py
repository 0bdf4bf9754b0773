"""A conversation → the ids of a prompt, by the model's chat template, with sampled answers kept as they were.

Knows nothing of the KV cache: what is reused is found by comparing ids.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from chatkv.tokens.filling import Filler
from chatkv.tokens.fold import Content, fold
from chatkv.tokens.probe import probe
from chatkv.tokens.segments import Message, Rendered
from chatkv.tokens.stream import TextStream
from chatkv.tokens.template import PLAIN_STOP, Template

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from transformers import PreTrainedTokenizerBase

    from chatkv.tokens.codec import Codec
    from chatkv.tokens.segments import Role


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
        self._tokenizer, self._thinking = tokenizer, thinking
        self._template = Template(tokenizer, thinking=thinking, today=today or datetime.now())
        self._traits = probe(self._template, codec.special)
        self._takes_system = not self._traits.system_complaint
        self.end_ids = _end_ids(tokenizer, codec, self._traits.closer)
        self.think_tags = self._traits.think_tags
        self.opens_thought = self._traits.opens_thought
        self.stop_strings = (PLAIN_STOP,) if self._template.is_fallback else ()
        self._filler = Filler(codec, self._template, self._traits, self.end_ids)
        self.notices = tuple(self._remarks(tokenizer))

    def dated(self, today: datetime) -> ChatFormat:
        """This format on another day: itself, where the template prints no date or the same one."""
        if all(today.strftime(pattern) == date for pattern, date in self._template.dates.items()):
            return self
        return ChatFormat(self._tokenizer, self._codec, thinking=self._thinking, today=today)

    def render(self, messages: Sequence[Message], *, answer: bool) -> Rendered:
        """The ids of `messages`, with the generation prompt if `answer`. No messages, no ids.

        Raises `ModelError` if the template refuses them.
        """
        contents = self._fold(messages)
        return self._filler.fill(contents, answer=answer) if contents else Rendered((), ())

    def stable_prefix(self, messages: Sequence[Message]) -> Rendered:
        """The ids that every prompt of `messages` and one more user message begins with, whatever it says.

        They end before the piece of text that will hold that message, for its first letters may merge with
        what stands before them.
        """
        following = Message("user", "?", turn=messages[-1].turn + 1 if messages else 1)
        contents = self._fold([*messages, following])
        return self._filler.fill(contents, answer=True, until=len(contents) - 1)

    def stream(self, stop: Sequence[str] = ()) -> TextStream:
        """A decoder for one answer to a prompt of this format."""
        return TextStream(
            self._codec,
            stop=(*stop, *self.stop_strings),
            think_tags=self.think_tags,
            in_thought=self.opens_thought,
        )

    def _fold(self, messages: Sequence[Message]) -> list[Content]:
        trims = self._traits.trims
        if not self._takes_system and "user" in trims:
            trims |= {"system"}
        return fold(messages, system_role=self._takes_system, trims=trims)

    def _remarks(self, tokenizer: PreTrainedTokenizerBase) -> Iterator[str]:
        if self._template.is_fallback:
            yield "The model has no chat template: a plain “User: … Assistant: …” format is used."
        if not self._takes_system:
            yield f"System prompts go into the first user message, for {self._traits.system_complaint}."
        if not self._equals_whole(tokenizer):
            yield "Prompts are tokenized piece by piece, which differs a little from the whole text."

    def _equals_whole(self, tokenizer: PreTrainedTokenizerBase) -> bool:
        """Whether a conversation of texts gets the ids that tokenizing the whole rendered prompt gives."""
        texts = ("Be brief.", "Hello there! 12 + 34 = ?", "It is 46.\n\n- done", "Thanks; 你好 \n  x")
        roles: tuple[Role, ...] = ("system", "user", "assistant", "user")
        start = 0 if self._takes_system else 1
        messages = [Message(role, text) for role, text in zip(roles, texts, strict=True)][start:]
        content = self._template.form.content
        plain = [{"role": message.role, "content": content(message.text)} for message in messages]
        whole = tokenizer(self._template.text(plain, answer=True), add_special_tokens=False)["input_ids"]
        return list(whole) == list(self.render(messages, answer=True).ids)


def _end_ids(tokenizer: PreTrainedTokenizerBase, codec: Codec, closer: str) -> frozenset[int]:
    """The tokenizer's end token, and the control token with which the template closes an answer."""
    eos = tokenizer.eos_token_id
    ends = set(eos) if isinstance(eos, list) else {eos} - {None}
    first = next(iter(codec.lex(closer.lstrip())), "")
    if isinstance(first, int) and first != tokenizer.bos_token_id:
        ends.add(first)
    return frozenset(ends)
