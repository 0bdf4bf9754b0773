"""The map of the KV cache: what lies in it from first to last token, how warm it is, and a legend."""

from __future__ import annotations

from typing import ClassVar

from textual import events

from chatkv.protocol import Kv, KvSegment
from chatkv.tui.memory import kv_map
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.widgets.memory import bar
from chatkv.tui.widgets.memory.drawing import Drawing

_MEANING = """What the KV cache holds, from its first to its last token:
█ system prompt and questions   ▆ answers   ◆ pinned turns
▤ recalled text   ▱ your draft   ▃ new in this turn   · free
▓ ▒ ◈ moved or compressed: a small measured error (E2)
░ ◇ stands for text that left the context, or is coarse (E3)
The line of columns below it, once measured: attention that recent questions paid to each turn."""
_STEP = 64
"""The scale of the map grows by so many tokens at a time, so that a token more seldom moves everything."""


class KvMap(Drawing):
    """Draws what a `Kv` holds and what was added since; not there while it has nothing."""

    LOOKS = "map"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "map--system",
        "map--summary",
        "map--asked",
        "map--answered",
        "map--pinned",
        "map--recalled",
        "map--draft",
        "map--new",
        "map--free",
        "map--heat",
        "map--words",
    }

    def __init__(self) -> None:
        super().__init__()
        self._kv: Kv | None = None
        self._n_new = 0
        self._layout = kv_map.Layout(())
        self._total = 0
        self._base: tuple[kv_map.Cell, ...] = ()
        self._base_for: tuple[object, ...] = ()
        self._cells: tuple[kv_map.Cell, ...] = ()
        self.display = False
        self.tooltip = _MEANING

    def show(self, gauges: Gauges) -> None:
        """Draw what these gauges hold."""
        kv = gauges.kv
        n_new = max(0, gauges.tokens - kv.tokens) if kv else 0
        if kv is self._kv and n_new == self._n_new:
            return
        if kv is not self._kv:
            recalled = {row.turn: row.recalled for row in gauges.rows if row.recalled}
            self._layout = kv_map.Layout(kv.segments if kv else (), recalled)
        self._kv, self._n_new = kv, n_new
        self.display = bool(kv and (kv.segments or n_new))
        self._redraw()

    def on_resize(self) -> None:
        """The line is as wide as the widget."""
        self._redraw()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Say what lies under the mouse."""
        if event.y < len(self._drawn) - 1 and event.x < len(self._cells):
            new = self._cells[event.x] is kv_map.NEW
            below = self._layout.within(event.x, len(self._cells), self._total)
            self.tooltip = kv_map.spoken([KvSegment("new", 0, self._n_new)] if new else below)
        else:
            self.tooltip = _MEANING

    def _redraw(self) -> None:
        held, width = self._layout.tokens, self.size.width
        self._total = held_tokens(self._kv, held + self._n_new) if self._kv else 0
        if (self._layout, width, self._total) != self._base_for:
            self._base_for = (self._layout, width, self._total)
            self._base = self._layout.cells(width, self._total)
        cells = kv_map.grown(self._base, held, self._n_new, self._total)
        if cells == self._cells and self._drawn:
            return
        self._cells = cells
        heat = kv_map.heat(cells)
        self.set_class(bool(heat), "-warm")
        legend = [
            part
            for glyph, look, word in kv_map.legend(cells, self.size.width)
            for part in ((look, glyph), ("words", f" {word}  "))
        ]
        line = bar.joined((cell.look, cell.glyph) for cell in cells)
        self.draw([line, *([[("heat", heat)]] if heat else []), legend])


def held_tokens(kv: Kv, tokens: int) -> int:
    """Tokens that the map spans: those for which memory is held, but never more than twice as many as there are."""
    if not kv.tokens or not kv.used_bytes:
        return tokens
    own = kv.reserved_bytes - kv.warm_bytes - kv.second_bytes
    room = int(own * kv.tokens / kv.used_bytes)
    rounded = -(-tokens // _STEP) * _STEP
    return max(min(room, 2 * rounded), min(rounded, max(room, tokens)))
