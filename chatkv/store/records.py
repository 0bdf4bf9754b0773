"""What the store hands out and takes in: plain frozen data, one class a kind of row.

Knows nothing of SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["user", "assistant"]

Status = Literal["streaming", "complete", "stopped", "length", "error", "partial"]
"""How far a message got. `partial`: the process that wrote the answer died in the middle of it."""

Finish = Literal["stop", "length", "cancelled", "error", "context"]
"""Why a turn ended; the same words as in the protocol."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One conversation. Times are seconds since the epoch."""

    id: str
    """Twelve characters that sort by time of creation."""
    title: str
    model: str
    system: str | None
    leaf_id: int | None
    """The newest message of the branch in use; None while there is none."""
    created_at: float
    updated_at: float
    """When a message was last added or an answer last ended."""
    n_messages: int
    """Messages on all branches."""
    carried_from: str | None = None
    """The session whose summary this one began with."""
    spec: str = ""
    """What to write as `model` to load that model again; empty where it is not known."""


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A node of the message tree. A parent's id is always smaller than its children's."""

    id: int
    session_id: str
    parent_id: int | None
    role: Role
    text: str
    thought: str
    ids: tuple[int, ...]
    """Token ids of an assistant message as they were sampled, its thought included; empty for the user's."""
    answer_start: int
    """Index into `ids` at which the visible answer begins."""
    status: Status
    turn: int
    """Number of the turn on its branch, from 1."""
    model: str
    created_at: float
    recalled: str = ""
    """What the archive gave for a user message: it stands in front of `text` in the prompt."""


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """What stands for the older turns of a branch in the context."""

    id: int
    session_id: str
    upto_id: int
    """The last message that it stands for; it is in force on branches that hold this message."""
    kept: tuple[int, ...]
    """User messages before it that stayed verbatim."""
    text: str
    """Empty where turns went without a summary."""
    origin: str
    """`model`, `extract`, `none`, or `edited`."""
    edited: str
    """What a person wrote into it: later summaries keep it word for word."""
    created_at: float


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A text that was too long for the context, kept to be recalled from."""

    id: int
    session_id: str
    name: str
    n_chars: int
    n_passages: int
    created_at: float


@dataclass(frozen=True, slots=True)
class PassageRecord:
    """One piece of a document."""

    id: int
    document_id: int
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What one turn cost: the protocol's `turn` event, with where and when."""

    session_id: str
    turn: int
    user_id: int
    message_id: int
    finish: Finish
    reused: int
    prefilled: int
    prefilled_early: int
    decoded: int
    recalled: int
    ttft_s: float | None
    tpot_s: float | None
    total_s: float
    kv_used_bytes: int
    kv_reserved_bytes: int
    kv_budget_bytes: int
    kv_tokens: int
    model: str
    created_at: float


@dataclass(frozen=True, slots=True)
class EventRecord:
    """Something that happened in a session, or (`session_id` None) outside any. `data` is JSON."""

    id: int
    session_id: str | None
    kind: str
    data: dict[str, Any]
    created_at: float


@dataclass(frozen=True, slots=True)
class DraftRecord:
    """What is written in a session and not sent."""

    text: str
    """As it would be sent."""
    labels: tuple[tuple[int, int, str], ...]
    """Stretches of `text` that stand in the composer as a label: start, length, label; ascending."""
    updated_at: float


@dataclass(frozen=True, slots=True)
class AskedRecord:
    """A message that the person sent."""

    message_id: int
    session_id: str
    text: str


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A message, or a session's title, that matches a search; best first in its list."""

    session_id: str
    session_title: str
    message_id: int
    """0 where the title matches, and `snippet` is of the title."""
    role: Role | Literal["title"]
    snippet: str
    """One line of text around the best match; control characters stand as spaces."""
    spans: tuple[tuple[int, int], ...]
    """Where the matches lie in `snippet`: (start, end) in characters, ascending, not overlapping."""
    created_at: float
    """Of a title: when its session was last used."""


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """A stretch of KV on disk. Its name is a hash of all ids from the beginning to its end, and of the model."""

    name: str
    parent: str
    """The block before it, or a name that stands for the beginning."""
    fingerprint: str
    ids: tuple[int, ...]
    """The tokens whose keys and values it holds."""
    n_bytes: int
    digest: str
    """SHA-256 of the file, in hex."""
    created_at: float
    used_at: float
