"""What a session tells about its memory: compaction, the summary, how turns stand, what was recalled.

One frozen dataclass an event, as in `events`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Compaction:
    """Old turns make room: what goes, how far it is, and at `done` what it cost.

    Stages: `planned` (a warning: nothing has happened yet), `summarizing`, `rebuilding` (the summary is read),
    `done`, `given_up` (the old state is whole), `undone`. `origin` of the summary: `model`, `extract` (sentences
    taken from the turns), `none`. `method`: kept turns were `rotated` to their new places, or are `prefilled`
    again. `prefilled` and `decoded` are tokens; `swap_s` and `total_s` seconds.
    """

    stage: Literal["planned", "summarizing", "rebuilding", "done", "given_up", "undone"]
    reason: Literal["idle", "full", "asked"]
    turns: tuple[int, ...] = ()
    done: int = 0
    total: int = 0
    summary_id: int | None = None
    text: str = ""
    origin: Literal["model", "extract", "none"] = "none"
    method: Literal["rotated", "prefilled"] = "prefilled"
    tokens_before: int = 0
    tokens_after: int = 0
    prefilled: int = 0
    decoded: int = 0
    swap_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Summarized:
    """The summary in force; `text` is empty where there is none. `turns` are those that it stands for."""

    text: str
    turns: tuple[int, ...] = ()
    origin: str = ""
    edited: bool = False
    tokens: int = 0
    id: int | None = None


@dataclass(frozen=True, slots=True)
class TurnMark:
    """How one turn stands in the context; `archived` turns are in the database alone.

    `asked` and `answered`: the message ids of all wordings of its question, and of all answers to this wording, in the
    order they were made; empty where there is only one. Those of this branch are among them.
    """

    turn: int
    user_id: int
    mark: Literal["verbatim", "summarized", "archived", "pinned"]
    asked: tuple[int, ...] = ()
    answered: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Marks:
    """How every turn of the branch in use stands in the context, oldest first."""

    turns: tuple[TurnMark, ...] = ()


@dataclass(frozen=True, slots=True)
class RecalledRound:
    """A stretch of the archive: turns `first` to `last` of the branch, or (`document` not empty) a passage."""

    first: int
    last: int
    text: str
    document: str = ""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the archive gave for turn `turn`: it stands in front of the user's words in the prompt.

    `by_hand`: it was asked for, and goes along with the next message.
    """

    turn: int
    tokens: int
    seconds: float
    rounds: tuple[RecalledRound, ...] = ()
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """A text was kept as a document of this conversation, in `passages` pieces that can be recalled."""

    document: int
    name: str
    tokens: int
    passages: int
