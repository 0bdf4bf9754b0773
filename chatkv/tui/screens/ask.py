"""Small questions in front of a screen: is this meant, and what shall it be called."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label

from chatkv.tui.inert import inert
from chatkv.tui.widgets.hints import named, typed
from chatkv.tui.widgets.inert_input import InertInput


class ConfirmScreen(ModalScreen[bool]):
    """Asks before something is lost. The harmless answer has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", id="confirm.yes", tooltip="Do it"),
        Binding("n,escape", "answer(False)", "No", id="confirm.no", tooltip="Leave everything as it is"),
    ]

    def __init__(self, question: str, detail: str, act: str) -> None:
        super().__init__()
        self._question, self._detail, self._act = question, detail, act

    def compose(self) -> ComposeResult:
        """Question, detail, the two answers."""
        with Vertical(classes="dialog"):
            yield Label(Content(inert(self._question)), classes="question")
            yield Label(Content(inert(self._detail)), classes="detail")
            with Horizontal(classes="buttons"):
                yes, no = (typed(self, name) for name in ("confirm.yes", "confirm.no"))
                yield Button(Content(f"{self._act} ({yes})"), id="yes", variant="error", compact=True)
                yield Button(Content(f"Keep ({no})"), id="no", compact=True)

    def on_mount(self) -> None:
        """Enter alone changes nothing."""
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """A click or Enter on a button is its answer."""
        self.action_answer(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """Leave with this answer."""
        self.dismiss(yes)


class NameScreen(ModalScreen[str | None]):
    """Asks for a title; leaves with None when nothing is to change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="name.cancel", tooltip="Keep the old title"),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        """The title in an input."""
        with Vertical(classes="dialog"):
            yield Label("Rename the session", classes="question")
            yield InertInput(self._title, compact=True)
            yield Label(Content(named(self, "Enter saves · ⟨name.cancel⟩ cancels")), classes="detail")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A blank title changes nothing."""
        self.dismiss(event.value.strip() or None)

    def action_cancel(self) -> None:
        """Leave without a change."""
        self.dismiss(None)
