"""What a conversation is to this room: messages going in, runs of token ids with one owner coming out.

Knows neither tokenizers nor templates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["system", "summary", "recalled", "user", "thought", "answer", "wrapper"]
Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of `n_tokens` ids with one owner. A wrapper carries the turn of the message that it leads to."""

    kind: str
    turn: int
    n_tokens: int
    tier: str = "E0"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    An answer carries exactly the ids that were sampled for it, thought included and end token left out;
    `answer_start` is the index in `ids` of the first token of the visible answer. An answer without ids
    (imported from elsewhere) is tokenized from its text. A system message with `is_summary` owns its tokens as
    `summary`; `recalled` is text that stands in front of the user's own.
    """

    role: Role
    text: str
    turn: int = 0
    ids: tuple[int, ...] = ()
    answer_start: int = 0
    thought: str = ""
    recalled: str = ""
    is_summary: bool = False


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt: its ids, and who owns them. The segments' lengths sum to the number of ids."""

    ids: tuple[int, ...]
    segments: tuple[Segment, ...]

    def __post_init__(self) -> None:
        assert sum(segment.n_tokens for segment in self.segments) == len(self.ids)
