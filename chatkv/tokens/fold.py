"""Messages → at most one system message, then no two user messages in a row: what strict templates accept.

Knows nothing of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatkv.tokens.segments import Message

_JOINT = "\n\n"


@dataclass(frozen=True, slots=True)
class Span:
    """Text with one owner."""

    kind: str
    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class Content:
    """What fills the slots of one message: spans of text, or the ids of the answer behind `message`.

    `turn` is that of the last message merged into it.
    """

    role: str
    turn: int
    spans: tuple[Span, ...]
    message: Message | None = None


def fold(messages: Sequence[Message], *, system_role: bool, trims: frozenset[str]) -> list[Content]:
    """Merge system messages into one (into the first user message without `system_role`) and users in a row.

    An assistant message without ids and text is left out. Text of the roles in `trims` is stripped.
    """
    contents: list[Content] = []
    system = _spans([m for m in messages if m.role == "system" and m.text.strip()], trims)
    if system and system_role:
        contents.append(Content("system", 0, system))
        system = ()
    for message in messages:
        if message.role == "user":
            spans = _spans([message], trims)
            if contents and contents[-1].role == "user":
                spans = _join(contents.pop().spans, spans)
            elif system:
                spans, system = _join(system, spans), ()
            contents.append(Content("user", message.turn, spans))
        elif message.role == "assistant" and (message.ids or message.text):
            if not contents or contents[-1].role == "system":
                # Strict templates begin with the user: what leads the first message, or nothing, was said first.
                contents.append(Content("user", message.turn, system or (Span("user", message.turn, ""),)))
                system = ()
            contents.append(Content("assistant", message.turn, _spans([message], trims), message))
    if system:  # nobody has said anything yet that it could lead
        contents.insert(0, Content("user", 0, system))
    return contents


def _spans(messages: Sequence[Message], trims: frozenset[str]) -> tuple[Span, ...]:
    spans: tuple[Span, ...] = ()
    for message in messages:
        kind = "answer" if message.role == "assistant" else "summary" if message.is_summary else message.role
        text = message.text.strip() if message.role in trims else message.text
        if message.recalled:
            spans = _join(spans, (Span("recalled", message.turn, message.recalled.strip()),))
        spans = _join(spans, (Span(kind, message.turn, text),))
    return spans


def _join(left: tuple[Span, ...], right: tuple[Span, ...]) -> tuple[Span, ...]:
    if not left or not right:
        return left or right
    first = right[0]
    return (*left, Span(first.kind, first.turn, _JOINT), *right)
