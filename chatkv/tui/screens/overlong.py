"""The question what to do with a message that is too long. Nothing is lost: the harmless answer keeps it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Label

from chatkv.tui import units
from chatkv.tui.inert import inert
from chatkv.tui.widgets.hints import typed


class OverlongScreen(ModalScreen[str | None]):
    """Leaves with `head`, `document`, or None to go on writing. Only the `choices` are offered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "b",
            "choose('head')",
            "Beginning",
            id="overlong.head",
            tooltip="Send as much of its beginning as fits",
        ),
        Binding(
            "d",
            "choose('document')",
            "Document",
            id="overlong.document",
            tooltip="Keep it as a document of this conversation; each question recalls what fits",
        ),
        Binding("escape", "back", "Back", id="overlong.back", tooltip="Put the message back to change it"),
    ]

    def __init__(self, text: str, message: str, choices: tuple[str, ...]) -> None:
        super().__init__()
        self._text, self._message, self._choices = text, message, choices

    def compose(self) -> ComposeResult:
        """The counts, the choices."""
        lines = units.plural(self._text.count("\n") + 1, "line")
        size = units.size(len(self._text.encode(errors="replace")))
        with Vertical(classes="dialog"):
            yield Label(f"This message is too long: {lines}, {size}", classes="question")
            yield Label(Content(inert(self._message)), classes="detail")
            with Vertical(classes="choices"):
                if "head" in self._choices:
                    yield self._choice("head", "Send its beginning")
                if "document" in self._choices:
                    yield self._choice("document", "Keep it as a document")
                yield self._choice("back", "Back to the message")

    def _choice(self, name: str, act: str) -> Button:
        return Button(Content(f"{typed(self, f'overlong.{name}'):<4} {act}"), id=name, compact=True)

    def on_mount(self) -> None:
        """Enter alone changes nothing."""
        self.query_one("#back").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """A click or Enter on a button is its answer."""
        self.dismiss(event.button.id if event.button.id in self._choices else None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what can be done with this message."""
        return action != "choose" or parameters[0] in self._choices

    def action_choose(self, choice: str) -> None:
        """Leave with this answer."""
        self.dismiss(choice)

    def action_back(self) -> None:
        """Go on writing."""
        self.dismiss(None)
