"""What can be recalled, and what was: plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passage:
    """One message of the branch, or one piece of a document."""

    key: int
    """Id of the message; for a piece of a document its id, negated."""
    turn: int
    """Number of the turn; 0 for documents."""
    role: str
    """`user`, `assistant` or `document`."""
    text: str
    name: str = ""
    """The document's name."""
    created_at: float = 0.0
    """Seconds since the epoch; 0 where it is not known."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Recalled passages that follow one another without a gap."""

    first_turn: int
    last_turn: int
    text: str
    """As it stands in the block."""
    document: str
    """The document's name; "" for messages."""
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What was recalled for a question."""

    text: str
    """The block to put in front of the user's words; "" when nothing is relevant."""
    tokens: int
    rounds: tuple[Stretch, ...]


NOTHING = Found("", 0, ())
