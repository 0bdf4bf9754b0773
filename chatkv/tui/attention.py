"""Calls the person back when an answer ends, or something fails, while the terminal is in the background.

Decides when, and in which words a terminal understands; whether it is in the background, and the writing, are others'.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from chatkv.tui import units
from chatkv.tui.inert import one_line
from chatkv.tui.memory.gauges import Gauges

_AT_LEAST_S = 5.0
"""An answer that took less is awaited by whoever asked."""
_MOST_CHARS = 120
_MUTE = ("dumb", "linux", "unknown", "")
"""Terminals that would print what they do not know."""


class Attention:
    """Hears of gauges and errors. `away` tells whether the terminal is in the background; `call` says it there."""

    def __init__(
        self, away: Callable[[], bool], call: Callable[[str], None], clock: Callable[[], float], *, on: bool
    ) -> None:
        self.on = on
        self._away, self._call, self._clock = away, call, clock
        self._since: float | None = None
        """When the turn that runs began."""

    def hear(self, gauges: Gauges) -> None:
        """A turn begins, or is over."""
        if gauges.phase in ("prefill", "decode"):
            if self._since is None:
                self._since = self._clock()
        elif self._since is not None:
            took_s, self._since = self._clock() - self._since, None
            if gauges.phase == "idle" and took_s >= _AT_LEAST_S:
                decoded = gauges.current.decoded if gauges.current else 0
                about = f" · {gauges.title}" if gauges.title else ""
                self._tell(f"Answered: {units.plural(decoded, 'token')} in {took_s:.0f} s{about}")

    def fail(self, text: str) -> None:
        """Something went wrong."""
        self._tell(f"Error: {text}")

    def _tell(self, text: str) -> None:
        if self.on and self._away():
            self._call(one_line(text)[:_MOST_CHARS])


def call(text: str, environ: Mapping[str, str] | None = None) -> str:
    """What to write to the terminal: a bell, and a desktop notice where the terminal is known to make one of it.

    OSC 9 (iTerm2's) or OSC 777 (rxvt's), never both: some terminals obey either. Inside tmux it is wrapped, so that
    tmux hands it on or drops it.
    """
    env = os.environ if environ is None else environ
    term = env.get("TERM", "")
    if term in _MUTE or (term.startswith("screen") and "TMUX" not in env):
        return "\a"
    rxvt = term.startswith(("rxvt", "foot")) or "VTE_VERSION" in env
    words = text.replace(";", ",")
    notice = f"\x1b]777;notify;chatkv;{words}\x1b\\" if rxvt else f"\x1b]9;chatkv: {words}\x1b\\"
    if "TMUX" in env:
        notice = "\x1bPtmux;" + notice.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return f"\a{notice}"


def titled(text: str, environ: Mapping[str, str] | None = None) -> str:
    """What gives the terminal's window this title (OSC 2); nothing where the terminal may not know it."""
    env = os.environ if environ is None else environ
    return "" if env.get("TERM", "") in _MUTE else f"\x1b]2;{one_line(text)[:_MOST_CHARS]}\x1b\\"


KEEP_TITLE, GIVE_TITLE_BACK = "\x1b[22;2t", "\x1b[23;2t"
"""xterm's stack of titles, which most others know too; who does not, ignores it."""
