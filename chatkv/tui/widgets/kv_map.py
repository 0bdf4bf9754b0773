"""The map of the KV cache: what lies in it from first to last token, how warm it is, and a legend."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from chatkv.protocol import Kv, KvSegment
from chatkv.tui import kv_map

_MEANING = """What the KV cache holds, from its first to its last token:
█ system prompt and questions   ▆ answers   ◆ pinned turns
▓ ▒ ◈ moved or compressed: a small measured error (E2)
░ ◇ stands for text that left the context, or is coarse (E3)
The line of columns below it, once measured: attention that recent questions paid to each turn."""


class KvMap(Widget):
    """Draws the segments of a `Kv`; not there while it has none."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "map--system",
        "map--summary",
        "map--asked",
        "map--answered",
        "map--pinned",
        "map--heat",
        "map--words",
    }

    def __init__(self) -> None:
        super().__init__()
        self._segments: tuple[KvSegment, ...] = ()
        self._cells: tuple[kv_map.Cell, ...] = ()
        self._heat = ""
        self.display = False
        self.tooltip = _MEANING

    def show(self, kv: Kv | None) -> None:
        """Draw the segments of this state."""
        segments = kv.segments if kv else ()
        if segments == self._segments:
            return
        self._segments = segments
        self.display = bool(segments)
        self._draw()

    def on_resize(self) -> None:
        """The line is as wide as the widget."""
        self._draw()

    def _draw(self) -> None:
        self._cells = kv_map.cells(self._segments, self.size.width)
        self._heat = kv_map.heat(self._cells)
        self.set_class(bool(self._heat), "-warm")
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The map, the heat if there is any, the legend."""
        rows = [self._map(), *([[("heat", self._heat)]] if self._heat else []), self._legend()]
        drawn = rows[y] if y < len(rows) else []
        styled = [Segment(text, self.get_component_rich_style(f"map--{name}")) for name, text in drawn]
        return Strip(styled).adjust_cell_length(self.size.width, self.rich_style)

    def _map(self) -> list[tuple[str, str]]:
        return [(cell.look, cell.glyph) for cell in self._cells]

    def _legend(self) -> list[tuple[str, str]]:
        entries = []
        for glyph, look, word in kv_map.legend(self._cells):
            entries += [(look, glyph), ("words", f" {word}  ")]
        return entries
