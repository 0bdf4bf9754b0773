"""What is found wrong or left out while a file is read, each with its place. Knows no format."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_LATEST_S = 253_402_128_000.0  # two days before the year 10000, which no date can say
_FIRST_IN_MS = 100_000_000_000.0  # as seconds, the year 5138


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that could not be taken over. `place`: a line, or a path such as `[3].mapping.abc.message`."""

    file: str
    place: str
    problem: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.file, self.place.strip(": "), self.problem)))


@dataclass(frozen=True, slots=True)
class Note:
    """Something left out or changed on purpose, and how often."""

    file: str
    what: str
    n: int


class Doubled(dict[str, Any]):
    """A JSON object in which one key, the first such, stood twice: which value is meant, nobody knows."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs)
        self.key = next(key for key, n in counts.items() if n > 1)


@dataclass(slots=True)
class Findings:
    """Collects for one file."""

    file: str
    faults: list[Fault] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def fault(self, place: str, problem: str) -> None:
        """Note that something at `place` cannot be taken over."""
        self.faults.append(Fault(self.file, place, problem))

    def note(self, what: str, n: int = 1) -> None:
        """Count something left out or changed on purpose."""
        if n:
            self.counts[what] += n

    @property
    def notes(self) -> list[Note]:
        """What was counted, in the order first met."""
        return [Note(self.file, what, n) for what, n in self.counts.items()]

    def an_object(self, value: Any, place: str) -> dict[str, Any] | None:
        """`value` if it is a sound JSON object, else None and a fault."""
        if isinstance(value, Doubled):
            self.fault(place, f"the key {short(value.key)} stands there twice.")
        elif isinstance(value, dict):
            return value
        else:
            self.fault(place, f"expected an object, found {kind_of(value)}.")
        return None

    def a_list(self, value: Any, place: str) -> list[Any] | None:
        """`value` if it is a list, else None and a fault."""
        if isinstance(value, list):
            return value
        self.fault(place, f"expected a list, found {kind_of(value)}.")
        return None


def kind_of(value: Any) -> str:
    """What a value is, in words for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    kinds: list[tuple[type, str]] = [(str, "text"), (dict, "an object"), (list, "a list"), (bytes, "bytes")]
    return next((word for kind, word in kinds if isinstance(value, kind)), "a number")


def short(value: object) -> str:
    """The beginning of `value`, quoted, for a message."""
    text = str(value)
    return repr(text if len(text) <= 40 else text[:39] + "…")


def seconds(value: Any) -> float | None:
    """A time since the epoch, told in seconds or milliseconds; None if `value` is no number or no possible date."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and abs(value) >= 1 << 63:
        return None
    told = float(value)
    if not math.isfinite(told):
        return None
    told = told / 1000 if told >= _FIRST_IN_MS else told
    return told if 0 <= told < _LATEST_S else None


def is_time(value: Any) -> bool:
    """Whether `value` is a number of seconds that the store and the screen can take."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and 0 <= value < _LATEST_S
    )
