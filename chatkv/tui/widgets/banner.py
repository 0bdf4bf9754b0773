"""What holds for as long as it lasts: nothing is saved, another window writes, another model answered before."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from chatkv.tui.inert import one_line
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.talk.held import Held
from chatkv.tui.talk.place import Place
from chatkv.tui.talk.telling import unsaved
from chatkv.tui.widgets.hints import named


class Banner(Static):
    """Draws calm lines between transcript and composer; not there without any. A click opens the choice of a model."""

    def __init__(self) -> None:
        super().__init__(id="banner")
        self._lines: Sequence[str] = ()
        self.chooses = False
        """Whether a model has to be chosen."""
        self.display = False

    async def on_click(self) -> None:
        """Choose a model; what else stands here cannot be changed by a click."""
        if self.chooses:
            await self.run_action("screen.model")

    def show(self, lines: Sequence[str]) -> None:
        """Draw these."""
        if lines != self._lines:
            self._lines = lines
            self.display = bool(lines)
            self.update(Content("\n".join(f"▪ {named(self, one_line(line))}" for line in lines)))


def lasting(gauges: Gauges, place: Place, held: Held) -> list[str]:
    """What is to be said now."""
    lines = [unsaved(gauges.unsaved)] if gauges.unsaved else []
    if place.writer:
        lines.append(place.spoken_writer)
    if held.words:
        lines.append(held.words)
    return lines
