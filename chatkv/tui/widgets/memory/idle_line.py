"""What idle time is spent on, in a few quiet words; blank when nothing is. Does not flicker."""

from __future__ import annotations

from textual.timer import Timer

from chatkv.tui.widgets.line import Line

SHOWN_AFTER_S = 0.3
KEPT_FOR_S = 0.8
_WORDS = {
    "settling": "preparing the next turn",
    "drafting": "reading your draft ahead",
    "compacting": "summarizing old turns",
    "healing": "healing: reading moved turns again",
    "writing": "writing the KV to disk",
    "reading": "reading the KV from disk",
    "indexing": "indexing for the search",
}
_MEANING = """What the model's idle time is spent on. It gives way at once when you send a message."""


class IdleLine(Line):
    """Draws idle work that lasts; what is over stays a moment longer."""

    def __init__(self) -> None:
        super().__init__(id="idle-work")
        self._wanted = ""
        self._timer: Timer | None = None
        self.tooltip = _MEANING

    def work(self, kind: str, *, at_once: bool = False) -> None:
        """This is worked on now; empty = nothing is. `at_once`: it is known to last, or to be over."""
        words = f"◌ {_WORDS.get(kind, kind)}" if kind else ""
        if words == self._wanted and not at_once:
            return
        self._wanted = words
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if at_once:
            self._settle()
        else:
            self._timer = self.set_timer(SHOWN_AFTER_S if words else KEPT_FOR_S, self._settle)

    def _settle(self) -> None:
        self.show(self._wanted)
