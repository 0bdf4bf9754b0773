"""All keys and commands, listed from the bindings and the table themselves, so that the list cannot be wrong."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label

from chatkv.tui.inert import inert
from chatkv.tui.settings.keymap import Keymap, places, spoken
from chatkv.tui.writing.slash import COMMANDS

_COMMANDS_BELOW = "Message"


class HelpScreen(ModalScreen[None]):
    """Shows the keys in force of each place under its name, and the commands."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="help.close", tooltip="Close this list"),
        Binding("up", "scroll(-1)", "Up", id="help.up", show=False, tooltip="Scroll up"),
        Binding("down", "scroll(1)", "Down", id="help.down", show=False, tooltip="Scroll down"),
        Binding("pageup", "scroll(-10)", "Page up", id="help.pageup", show=False, tooltip="Scroll a page up"),
        Binding(
            "pagedown",
            "scroll(10)",
            "Page down",
            id="help.pagedown",
            show=False,
            tooltip="Scroll a page down",
        ),
    ]

    def __init__(self, keymap: Keymap, config_file: str) -> None:
        super().__init__()
        self._keymap, self._config_file = keymap, config_file

    def compose(self) -> ComposeResult:
        """A heading and a table for each place; the commands."""
        with Vertical(classes="panel"):
            yield Label("Keys and commands", classes="title")
            with VerticalScroll(can_focus=False):
                for place, bindings in places().items():
                    yield Label(Content(place), classes="place")
                    for binding, keys in self._keymap.grouped(bindings):
                        yield _row("  ".join(map(spoken, keys)), binding.tooltip or binding.description)
                    if place == _COMMANDS_BELOW:
                        yield Label("Commands, typed as a message", classes="place")
                        for command in COMMANDS:
                            yield _row(command.usage, command.meaning)
                        yield _row("//…", "Send a message that begins like a command")
                yield Label("Settings and other keys", classes="place")
                yield _row(self._keymap.spoken("app.settings"), "Every setting, with what it means")
                yield _row("[keys]", f"Other keys for all of this: {inert(self._config_file)}")
            closes = self._keymap.spoken("help.close")
            hint = f"{closes} closes · hover over a number in the sidebar to learn what it means"
            yield Label(Content(hint), classes="hint")

    def action_close(self) -> None:
        """Back to where help was asked for."""
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        """Scroll the list."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def _row(keys: str, meaning: str) -> Horizontal:
    row = Horizontal(Label(Content(keys), classes="keys"), Label(Content(meaning), classes="act"))
    return row.add_class("key-row")
