"""The model's Jinja chat template as a function from the shape of a conversation to text with slots.

No message's text ever enters the template: unique marks stand in for all of it. So what people write is never
evaluated, and the result depends on roles alone. Knows nothing of token ids.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from chatkv.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from transformers import PreTrainedTokenizerBase

Field = Literal["text", "thought"]
ThoughtForm = Literal["field", "inline", "none"]

PLAIN_STOP = "\nUser:"
_PLAIN_SOURCE = (
    "{{ bos }}{% for m in messages %}"
    "{% if m['role'] == 'system' %}{{ m['content'] + '\n\n' }}"
    "{% elif m['role'] == 'user' %}{{ 'User: ' + m['content'] + '\n' }}"
    "{% else %}{{ 'Assistant: ' + m['content'] + '\n' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)
_DATE_CALL = re.compile(r"strftime_now\(\s*(?:\"([^\"]*)\"|'([^']*)')\s*\)")
_MARK = re.compile(r"Zq([TC])x(\d{7})vK")


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one message's text or thought. `index` counts the messages of the shape."""

    index: int
    field: Field


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a shape."""

    role: str
    has_thought: bool = False


Part = str | Slot
Shape = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """How the template wants its messages: content as a list of parts, and where a thought goes."""

    as_parts: bool = False
    thought: ThoughtForm = "none"
    tags: tuple[str, str] = ("<think>", "</think>")

    def content(self, text: str) -> str | list[dict[str, str]]:
        """`text` as the value of a message's `content`."""
        return [{"type": "text", "text": text}] if self.as_parts else text


class Template:
    """Renders shapes. Pure for its lifetime: a template that prints the date prints the one it began with.

    `dates` is every date it prints, by format; empty for most templates.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, thinking: bool, today: datetime) -> None:
        self._tokenizer = tokenizer
        self.source, self.is_fallback = _source_of(tokenizer)
        dates = self.dates = _dates(self.source, today)
        self._options: dict[str, Any] = {
            "chat_template": (_FROZEN_DATE if dates else "") + self.source,
            "enable_thinking": thinking,
            "thinking": thinking,
            "frozen_dates": dates,
            "bos": tokenizer.bos_token if self.is_fallback and _adds_bos(tokenizer) else "",
        }
        self.form = Form()
        self._cached = functools.lru_cache(maxsize=16)(self._render)

    def parts(self, shape: Shape, *, answer: bool) -> tuple[Part, ...]:
        """The prompt of `shape`, cut at its slots. Raises `ModelError` if the template cannot render it."""
        return self._cached(shape, answer, self.form)

    def _render(self, shape: Shape, answer: bool, form: Form) -> tuple[Part, ...]:
        return _cut(self.text([_message(n, entry, form) for n, entry in enumerate(shape)], answer=answer))

    def text(self, messages: Sequence[dict[str, Any]], *, answer: bool) -> str:
        """The template's own output. Raises `ModelError` that quotes the template's complaint."""
        try:
            rendered = self._tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=answer, **self._options
            )
        # A template is a program that came with the model: it may fail in any way.
        except Exception as error:
            raise ModelError(
                f"The model's chat template cannot render this conversation: {error}.",
                "Choose another model, or mend the chat_template beside its tokenizer.",
            ) from error
        return str(rendered)


def mark(index: int, field: Field) -> str:
    """The text that stands in for a message's text or thought."""
    return f"Zq{'T' if field == 'thought' else 'C'}x{index:07d}vK"


def _message(index: int, entry: Entry, form: Form) -> dict[str, Any]:
    content = mark(index, "text")
    thought = mark(index, "thought") if entry.has_thought else ""
    if thought and form.thought == "inline":
        content = f"{form.tags[0]}\n{thought}\n{form.tags[1]}\n\n{content}"
    message: dict[str, Any] = {"role": entry.role, "content": form.content(content)}
    if thought and form.thought == "field":
        message["reasoning_content"] = thought
    return message


def _cut(text: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    end = 0
    for found in _MARK.finditer(text):
        if found.start() > end:
            parts.append(text[end : found.start()])
        parts.append(Slot(int(found[2]), "thought" if found[1] == "T" else "text"))
        end = found.end()
    if end < len(text):
        parts.append(text[end:])
    return tuple(parts)


def _source_of(tokenizer: PreTrainedTokenizerBase) -> tuple[str, bool]:
    if not tokenizer.chat_template:
        return _PLAIN_SOURCE, True
    try:
        return str(tokenizer.get_chat_template()), False
    except ValueError as error:  # several named templates and none of them is the default
        raise ModelError(
            f"This model names no default chat template: {error}", "Choose another model."
        ) from error


def _adds_bos(tokenizer: PreTrainedTokenizerBase) -> bool:
    return tokenizer.bos_token_id is not None and tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]


# Jinja drops the newline after a block: the template itself still begins at the start of a line.
_FROZEN_DATE = "{% macro strftime_now(format) %}{{ frozen_dates[format] }}{% endmacro %}\n"


def _dates(source: str, today: datetime) -> dict[str, str]:
    """Text of every date that `source` prints; empty if one of its formats is not a literal."""
    formats = [double or single for double, single in _DATE_CALL.findall(source)]
    if len(formats) != source.count("strftime_now("):
        return {}
    return {pattern: today.strftime(pattern) for pattern in formats}
