"""One question and its answer as the screen shows them, and the small orders that change the screen.

Plain data; knows neither widgets nor where the text comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chatkv.protocol import Command, Finish

State = Literal[
    "queued", "waiting", "streaming", "complete", "stopped", "length", "partial", "error", "context"
]
"""`queued`: not sent yet. `waiting`: sent, no token yet. The rest as in the store, with `context` for a full one."""

OVER: dict[Finish, State] = {
    "stop": "complete",
    "length": "length",
    "cancelled": "stopped",
    "error": "error",
    "context": "context",
}
"""How a turn's `finish` reads on the screen."""

RUNNING: tuple[State, ...] = ("waiting", "streaming")
EXTENDABLE: tuple[State, ...] = ("length", "stopped", "partial", "error")
"""Answers that `continue` can take up."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn on screen. `key` is the screen's own name for it; database ids come once the turn is accepted."""

    key: int
    prompt: str
    answer: str = ""
    thought: str = ""
    state: State = "complete"
    note: str = ""
    """What went wrong and what to do, shown beside the text."""
    user_id: int | None = None
    answer_id: int | None = None


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Show the conversation anew: turns went away or others came."""


@dataclass(frozen=True, slots=True)
class Show:
    """Add or redraw this turn."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Stream:
    """More text of a turn's answer (or of the thought before it)."""

    key: int
    text: str
    thought: bool = False


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Text that was not taken belongs back in the composer."""

    text: str


@dataclass(frozen=True, slots=True)
class Issue:
    """Send this to the worker."""

    command: Command


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the person."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class Reload:
    """The worker is in a session that the screen does not show: read it from the store."""

    session: str


Update = Rebuild | Show | Stream | GiveBack | Issue | Say | Reload
