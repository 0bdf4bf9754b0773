"""Labels and numbers in two columns, each with a tooltip that says what the number means; headings with a number.

One widget draws many numbers: each widget on the screen costs time at every frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events

from chatkv.tui import units
from chatkv.tui.widgets.memory.drawing import Drawing, DrawnLine

_GAP = 3


class Figures(Drawing):
    """Numbers in two columns. `words`: for each name its label and what the number means."""

    LOOKS = "figures"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"figures--label", "figures--value"}

    def __init__(self, words: Mapping[str, tuple[str, str]], *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._words = words
        self._names = tuple(words)
        self._values: Mapping[str, str] = {}
        self.tooltip = "\n".join(f"{label}: {meaning}" for label, meaning in words.values())

    def show(self, values: Mapping[str, str]) -> None:
        """Draw these values; what has none is not known."""
        self._values = values
        self.draw([self._pair(n) for n in range(0, len(self._names), 2)])

    def on_resize(self) -> None:
        """The columns share the width."""
        self.show(self._values)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Say what the number under the mouse means."""
        n = 2 * event.y + (event.x >= (self.size.width + 1) // 2)
        if n < len(self._names):
            label, meaning = self._words[self._names[n]]
            self.tooltip = f"{label}: {meaning}"

    def _pair(self, n: int) -> DrawnLine:
        wide = (self.size.width - _GAP) // 2
        parts: DrawnLine = []
        for name in self._names[n : n + 2]:
            label, value = self._words[name][0], self._values.get(name, units.NOTHING)
            gap = " " * (_GAP + (self.size.width - _GAP) % 2) if parts else ""
            parts += [("label", f"{gap}{label}"), ("value", f"{value:>{max(0, wide - len(label))}}")]
        return parts


class Heading(Drawing):
    """A name at the left, a number at the right."""

    LOOKS = "heading"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "heading--name",
        "heading--value",
        "heading--soft",
        "heading--hard",
    }

    def __init__(self, name: str, meaning: str, *, id: str, value: str = "", classes: str = "") -> None:
        super().__init__(id=id, classes=f"heading {classes}".strip())
        self._shown = (name, value, "value")
        self.tooltip = meaning

    def show(self, value: str, *, name: str = "", look: str = "value") -> None:
        """Draw this value in this look (value, soft, hard); with `name`, under another name."""
        self._shown = (name or self._shown[0], value, look)
        self.on_resize()

    def on_resize(self) -> None:
        """The value stands at the right."""
        name, value, look = self._shown
        room = max(0, self.size.width - len(name) - 1)
        self.draw([[("name", f"{name} "), (look, f"{value[-room:] if room else '':>{room}}")]])
