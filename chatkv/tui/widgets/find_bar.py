"""One line to find words in the conversation: what to look for, and which match of how many one is at."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Label

from chatkv.tui.widgets.inert_input import InertInput


def _key(keys: str, action: str, label: str, meaning: str) -> Binding:
    name = action.partition("(")[0]
    return Binding(keys, action, label, id=f"find.{name}", tooltip=meaning)


class FindInput(InertInput):
    """Where the words are written; its keys go from match to match."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("enter,down", "next", "Next", "Go to the next match"),
        _key("shift+enter,up", "previous", "Previous", "Go to the match before"),
        _key("escape", "close", "Close", "Close the line; the turn that was found stays marked"),
    ]

    def action_next(self) -> None:
        """Go to the next match."""
        self.post_message(FindBar.Stepped(1))

    def action_previous(self) -> None:
        """Go to the match before."""
        self.post_message(FindBar.Stepped(-1))

    def action_close(self) -> None:
        """Close the line."""
        self.post_message(FindBar.Closed())


class FindBar(Horizontal):
    """Draws the line; hidden until it is opened."""

    class Sought(Message):
        """Other words are looked for."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class Stepped(Message):
        """To the match so many after (before, if negative)."""

        def __init__(self, steps: int) -> None:
            super().__init__()
            self.steps = steps

    class Closed(Message):
        """The line is to be closed."""

    def __init__(self) -> None:
        super().__init__(id="find")
        self._input = FindInput(placeholder="words in this conversation", compact=True)
        self._place = Label("", classes="place")
        self.display = False

    def compose(self) -> ComposeResult:
        """What is looked for, and where one is."""
        yield Label("Find", classes="sign")
        yield self._input
        yield self._place

    @property
    def words(self) -> str:
        """What is looked for."""
        return self._input.value

    def open(self, words: str | None = None) -> None:
        """Show it, with these words if some are given, ready to type others."""
        self.display = True
        if words is not None:
            self._input.value = words
        self._input.focus()
        self._input.action_select_all()

    def close(self) -> None:
        """Hide it; its words stay for the next time."""
        self.display = False

    def show_place(self, place: str) -> None:
        """Draw `3/17`, or that there is nothing."""
        self._place.update(Content(place))

    @on(Input.Changed)
    def _on_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Sought(event.value))
