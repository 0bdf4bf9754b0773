"""What happened, line by line: what was told, and what is worth a line though nobody has to read it at once.

Plain data and functions. Wording is shared with `telling`; knows neither widgets nor the store.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chatkv.protocol import Compaction, Error, Event, PrefixBreak, Recalled, Turn, event_from_json
from chatkv.tui.inert import one_line
from chatkv.tui.talk.telling import recollection, told

Severity = Literal["quiet", "info", "warning", "error"]
"""How much it matters; `quiet` was never told by itself."""

GLYPHS: dict[Severity, str] = {"quiet": "·", "info": "•", "warning": "!", "error": "✗"}


@dataclass(frozen=True, slots=True)
class Happening:
    """One line. `at` is in seconds since the epoch."""

    at: float
    text: str
    level: Severity = "info"

    @property
    def glyph(self) -> str:
        """Its severity."""
        return GLYPHS[self.level]


def quiet(event: Event) -> str:
    """What to note of an event that nothing else tells about; empty for nothing."""
    match event:
        case Recalled(rounds=rounds, by_hand=False, turn=turn) if rounds:
            title = recollection(event).title
            return f"Turn {turn}: {title}"
        case Turn(turn=turn, finish="cancelled", decoded=decoded):
            return f"Turn {turn} was stopped after {decoded:,} decoded tokens."
        case Turn(turn=turn, finish="context"):
            return f"Turn {turn} ended since the context is full."
        case Turn(turn=turn, finish="length", decoded=decoded):
            return f"Turn {turn} was cut at its limit of {decoded:,} tokens."
    return ""


def remembered(kind: str, data: Mapping[str, Any], at: float) -> Happening | None:
    """What a stored event says; None for one that says nothing, or that another version wrote."""
    event = event_from_json(json.dumps({**data, "type": kind}))
    if isinstance(event, Error):
        return Happening(at, one_line(f"{event.message} {event.hint}"), "error")
    said = told(event) if isinstance(event, PrefixBreak | Compaction) else None
    return Happening(at, one_line(said.text), said.level) if said else None
