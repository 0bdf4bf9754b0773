"""How the fetching and converting of a model is told. Knows nothing of who listens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

_INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` in `unit` (`B`, `files`, `tensors` or empty). `total` 0 = unknown."""

    stage: str
    done: int = 0
    total: int = 0
    unit: str = ""


OnProgress = Callable[[Progress], None]
"""Called by the thread that works, never by two at once. A `ChatkvError` it raises ends the work."""


def ignore_progress(_: Progress) -> None:
    """An `OnProgress` for callers that show nothing."""


class Meter:
    """Counts one stage from any thread and passes it on at most ten times a second."""

    def __init__(self, on_progress: OnProgress, stage: str, total: int, unit: str) -> None:
        self._on_progress = on_progress
        self._stage = stage
        self._total = total
        self._unit = unit
        self._done = 0
        self._told = -1
        self._told_at = 0.0
        self._lock = threading.Lock()

    def add(self, n: int) -> None:
        """`n` more are done."""
        self.reach(self._done + n)

    def reach(self, done: int) -> None:
        """`done` in all are done; never runs backwards, nor past the total where one is known."""
        with self._lock:
            self._done = max(self._done, min(done, self._total or done))
            now = time.monotonic()
            if now - self._told_at >= _INTERVAL_S or (self._done == self._total and self._total):
                self._tell(now)

    def finish(self) -> None:
        """Pass on the last state, if it was held back."""
        with self._lock:
            self._tell(time.monotonic())

    def _tell(self, now: float) -> None:
        if self._done != self._told:
            self._told, self._told_at = self._done, now
            self._on_progress(Progress(self._stage, self._done, self._total, self._unit))
