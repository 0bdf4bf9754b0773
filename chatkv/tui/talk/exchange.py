"""One question and its answer as the screen shows them, and the small orders that change the screen.

Plain data; knows neither widgets nor where the text comes from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from chatkv.protocol import Command, Finish, Summarized
from chatkv.tui.writing.written import Written

State = Literal[
    "queued", "waiting", "streaming", "complete", "stopped", "length", "partial", "error", "context"
]
"""`queued`: not sent yet. `waiting`: sent, no token yet. The rest as in the store, with `context` for a full one."""

_OVER: dict[Finish, State] = {
    "stop": "complete",
    "length": "length",
    "cancelled": "stopped",
    "error": "error",
    "context": "context",
}
"""How a turn's `finish` reads on the screen."""

RUNNING: tuple[State, ...] = ("waiting", "streaming")

Mark = Literal["verbatim", "summarized", "archived", "pinned"]
"""How a turn stands in the context; the same words as in the protocol."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """What the archive gave for a turn: a title of one line, and the text that stood before the question."""

    title: str
    text: str


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
    turn: int = 0
    """Its number on the branch, from 1; 0 = not known yet."""
    mark: Mark = "verbatim"
    divider: str = ""
    """What is to be said below the last turn that left the context."""
    recalled: Recollection | None = None
    head_only: bool = False
    """To be sent as far as it fits."""
    asked: tuple[int, ...] = ()
    """Message ids of all wordings of its question, oldest first; empty where there is only this one."""
    answered: tuple[int, ...] = ()
    """Message ids of all answers to this wording, oldest first; empty where there is only this one."""

    @property
    def extendable(self) -> bool:
        """Whether `continue` can take its answer up."""
        return self.state in ("length", "stopped", "partial", "error")

    def ended(self, finish: Finish) -> Exchange:
        """The turn after its end."""
        return replace(self, state=_OVER[finish])


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Show the conversation anew: turns went away or others came. `at`: the turn to keep in sight, None = the end.

    `stay`: who has scrolled up stays there.
    """

    at: int | None = None
    stay: bool = False


@dataclass(frozen=True, slots=True)
class Show:
    """Add or redraw this turn."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Remark:
    """Marks of turns changed; their texts did not."""


@dataclass(frozen=True, slots=True)
class Found:
    """What goes along with the next message; None = nothing any more."""

    recollection: Recollection | None


@dataclass(frozen=True, slots=True)
class Summed:
    """The summary in force."""

    summary: Summarized


@dataclass(frozen=True, slots=True)
class Front:
    """Bring this screen to the front."""

    name: Literal["help", "summary", "models"]


@dataclass(frozen=True, slots=True)
class Choose:
    """A message is too long: ask what to do with `text`."""

    text: str
    message: str
    choices: tuple[str, ...]


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
class Tokens:
    """What is being written has so many tokens; 0 = not known. `free`, `room`: as in the protocol's `drafted`."""

    n_tokens: int
    free: int = 0
    room: int = 0


@dataclass(frozen=True, slots=True)
class Labelled:
    """The text that stands in the composer as `label` has so many tokens."""

    label: str
    text: str
    n_tokens: int


@dataclass(frozen=True, slots=True)
class Clear:
    """Another session is on screen: what is in the composer belongs to the one before."""


@dataclass(frozen=True, slots=True)
class Restore:
    """This was being written in the session on screen when it was left."""

    written: Written


@dataclass(frozen=True, slots=True)
class Perform:
    """Do what the keys of the screen do, too."""

    name: Literal["edit", "copy", "find", "sessions", "settings", "theme", "quit"]
    about: str = ""


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


@dataclass(frozen=True, slots=True)
class Refresh:
    """The session on screen is at another branch, or further, than the screen: read it from the store."""


Update = (
    Rebuild
    | Show
    | Remark
    | Found
    | Summed
    | Front
    | Choose
    | Stream
    | GiveBack
    | Tokens
    | Labelled
    | Perform
    | Clear
    | Restore
    | Issue
    | Say
    | Reload
    | Refresh
)
