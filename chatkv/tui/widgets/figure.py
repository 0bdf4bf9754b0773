"""A label and a number, with a tooltip that says what the number means."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal

from chatkv.tui import units
from chatkv.tui.widgets.line import Line


class Figure(Horizontal):
    """One number of the sidebar."""

    def __init__(self, label: str, meaning: str, *, id: str) -> None:
        super().__init__(id=id)
        self._label = label
        self._value = Line(units.NOTHING, classes="value")
        self.tooltip = meaning

    def compose(self) -> ComposeResult:
        """Label, value."""
        yield Line(self._label, classes="label")
        yield self._value

    def show(self, value: str) -> None:
        """Draw this value."""
        self._value.show(value)
