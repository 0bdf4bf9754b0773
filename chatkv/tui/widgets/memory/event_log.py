"""What happened, the newest on top: severity as a glyph, words, time. Wraps once, draws what is in sight."""

from __future__ import annotations

import textwrap
from typing import ClassVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from chatkv.tui import units
from chatkv.tui.memory.happenings import Happening
from chatkv.tui.widgets.hints import named
from chatkv.tui.widgets.memory.drawing import DrawnLine

_INDENT = "  "
_LEAST = 24
_MEANING = """What happened, the newest on top; ⟨chat.events⟩ shows all.
· noted   • told   ! warning   ✗ error"""


class EventLog(ScrollView, can_focus=False):
    """Draws happenings. `most`: as many of them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log--time",
        "log--quiet",
        "log--info",
        "log--warning",
        "log--error",
    }

    def __init__(self, most: int = 100, *, id: str = "log", dated: bool = False) -> None:
        super().__init__(id=id)
        self._most = most
        self._dated = dated
        self._happened: tuple[Happening, ...] = ()
        self._lines: list[DrawnLine] = []
        self._wrapped_at = 0

    def on_mount(self) -> None:
        """Explain the glyphs."""
        self.tooltip = named(self, _MEANING)

    def show(self, happened: tuple[Happening, ...]) -> None:
        """Draw these, the newest first."""
        if happened is not self._happened:
            self._happened = happened
            self._wrap()

    def on_resize(self, event: events.Resize) -> None:
        """Wrap anew where the width is another."""
        if self._room != self._wrapped_at:
            self._wrap()

    def _wrap(self) -> None:
        self._wrapped_at = self._room
        lines = [line for one in self._happened[: self._most] for line in self._set(one)]
        self._lines = lines
        size = Size(self._wrapped_at, len(lines))
        if size != self.virtual_size:
            self.virtual_size = size
        self.refresh()

    @property
    def _room(self) -> int:
        """A cell is left for the scrollbar, there or not."""
        return max(_LEAST, self.outer_size.width - 1)

    def _set(self, one: Happening) -> list[DrawnLine]:
        """One happening in lines: its time in front of it with the date, else behind it."""
        time = units.moment(one.at, dated=self._dated)
        margin = f"{time}  " if self._dated else ""
        room = self._room - cell_len(margin) - len(_INDENT)
        texts = _wrapped(named(self, one.text), room)
        lines: list[DrawnLine] = []
        for n, text in enumerate(texts):
            head = f"{one.glyph} " if n == 0 else _INDENT
            lines.append([("time", margin if n == 0 else " " * len(margin)), (one.level, f"{head}{text}")])
        if not self._dated:
            free = room - cell_len(texts[-1]) - len(time)
            if free < 1:
                free = room - len(time) + len(_INDENT)
                lines.append([])
            lines[-1].append(("time", " " * free + time))
        return lines

    def render_line(self, y: int) -> Strip:
        """One line in sight."""
        at = y + self.scroll_offset.y
        line = self._lines[at] if at < len(self._lines) else []
        parts = [Segment(text, self.get_component_rich_style(f"log--{look}")) for look, text in line]
        return Strip(parts).adjust_cell_length(self.size.width, self.rich_style)


def _wrapped(text: str, room: int) -> list[str]:
    """The text in lines of at most `room` cells."""
    lines = textwrap.wrap(text, room) or [""]
    return [part for line in lines for part in (chop_cells(line, room) if cell_len(line) > room else [line])]
