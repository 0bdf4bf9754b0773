"""How often text that streams in is drawn: as often as the eye wants it, unless that takes too much processor time."""

from __future__ import annotations

import time
from collections.abc import Callable

_AT_ONCE_S, _SHORTEST_S, _LONGEST_S = 0.001, 1 / 15, 1 / 5
_COST_SHARE = 8
"""Of the time, this fraction goes into frames that take long to draw; the model wants the rest."""
_SMOOTH = 8


class Pace:
    """The time between two frames. Of `spent`, the CPU seconds of this thread, all in between are a frame's cost."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, spent: Callable[[], float] = time.thread_time
    ) -> None:
        self._clock, self._spent = clock, spent
        self._cost_s = 0.0
        self._drawn_at, self._spent_s = clock() - _LONGEST_S, spent()

    def wait_s(self) -> float:
        """Seconds from now until the next frame is due, never 0."""
        pause_s = min(_LONGEST_S, max(_SHORTEST_S, self._cost_s * _COST_SHARE))
        return max(_AT_ONCE_S, self._drawn_at + pause_s - self._clock())

    def draw(self) -> None:
        """A frame begins now."""
        now, spent_s = self._clock(), self._spent()
        # Behind a pause, what was spent in it says nothing about frames.
        if now - self._drawn_at < 2 * _LONGEST_S:
            self._cost_s += (spent_s - self._spent_s - self._cost_s) / _SMOOTH
        self._drawn_at, self._spent_s = now, spent_s
