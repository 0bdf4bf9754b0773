"""A label and a number, with a tooltip that says what the number means."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Label


class Figure(Horizontal):
    """One number of the sidebar."""

    def __init__(self, label: str, meaning: str, *, id: str) -> None:
        super().__init__(id=id)
        self._label = label
        self._value = Label("–", classes="value")
        self._shown = "–"
        self.tooltip = meaning

    def compose(self) -> ComposeResult:
        """Label, value."""
        yield Label(Content(self._label), classes="label")
        yield self._value

    def show(self, value: str) -> None:
        """Draw this value, if it is another one."""
        if value != self._shown:
            self._shown = value
            self._value.update(Content(value))
