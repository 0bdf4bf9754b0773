"""All keys, listed from the bindings themselves, so that the list cannot be wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label


class HelpScreen(ModalScreen[None]):
    """Shows the bindings of each place under its name."""

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
        """A heading and a table of keys for each place."""
        with Vertical(classes="panel"):
            yield Label("Keys", classes="title")
            with VerticalScroll(can_focus=False):
                for place, bindings in self._places.items():
                    yield Label(Content(place), classes="place")
                    for binding, keys in grouped(bindings):
                        with Horizontal(classes="key-row"):
                            yield Label(Content("  ".join(map(spoken, keys))), classes="keys")
                            yield Label(Content(binding.tooltip or binding.description), classes="act")
            yield Label(
                "Esc closes · hover over a number in the sidebar to learn what it means", classes="hint"
            )

    def action_close(self) -> None:
        """Back to where help was asked for."""
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        """Scroll the list."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


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
