"""All keys and commands, listed from the bindings and the table themselves, so that the list cannot be wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label

from chatkv.tui.slash import COMMANDS

_COMMANDS_BELOW = "Message"


class HelpScreen(ModalScreen[None]):
    """Shows the bindings of each place under its name, and the commands."""

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

    def __init__(self, places: Mapping[str, Iterable[BindingType]]) -> None:
        super().__init__()
        self._places = places

    def compose(self) -> ComposeResult:
        """A heading and a table for each place; the commands."""
        with Vertical(classes="panel"):
            yield Label("Keys and commands", classes="title")
            with VerticalScroll(can_focus=False):
                for place, bindings in self._places.items():
                    yield Label(Content(place), classes="place")
                    for binding, keys in grouped(bindings):
                        yield _row("  ".join(map(spoken, keys)), binding.tooltip or binding.description)
                    if place == _COMMANDS_BELOW:
                        yield Label("Commands, typed as a message", classes="place")
                        for command in COMMANDS:
                            yield _row(command.usage, command.meaning)
                        yield _row("//…", "Send a message that begins like a command")
            yield Label(
                "Esc closes · hover over a number in the sidebar to learn what it means", classes="hint"
            )

    def action_close(self) -> None:
        """Back to where help was asked for."""
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        """Scroll the list."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def _row(keys: str, meaning: str) -> Horizontal:
    row = Horizontal(Label(Content(keys), classes="keys"), Label(Content(meaning), classes="act"))
    return row.add_class("key-row")


def grouped(bindings: Iterable[BindingType]) -> list[tuple[Binding, list[str]]]:
    """Bindings, each with all keys that do the same, in order."""
    groups: dict[str, tuple[Binding, list[str]]] = {}
    for binding in Binding.make_bindings(bindings):
        groups.setdefault(binding.tooltip or binding.description, (binding, []))[1].append(binding.key)
    return list(groups.values())


def spoken(key: str) -> str:
    """A key as it is printed on keyboards: `Ctrl+O`, `Esc`, `?`."""
    names = {"escape": "Esc", "question_mark": "?", "pageup": "PgUp", "pagedown": "PgDn"}
    return "+".join(names.get(part, part.capitalize()) for part in key.split("+"))
