"""All events of the session in front of the conversation: what was told, and what was noted, the newest on top."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Label

from chatkv.tui import units
from chatkv.tui.memory.happenings import Happening
from chatkv.tui.widgets.memory.event_log import EventLog

_LOOK_S = 0.5
_MOST = 500


class EventsScreen(ModalScreen[None]):
    """Draws what `happened` says, and what comes to it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f12", "close", "Back", id="events.close", tooltip="Back to the conversation"),
        Binding(
            "up,k",
            "scroll_lines(-1)",
            "Up",
            id="events.up",
            show=False,
            tooltip="Scroll up",
        ),
        Binding("down,j", "scroll_lines(1)", "Down", id="events.down", show=False, tooltip="Scroll down"),
        Binding(
            "pageup",
            "scroll_lines(-10)",
            "Page up",
            id="events.page_up",
            show=False,
            tooltip="Scroll up a page",
        ),
        Binding(
            "pagedown",
            "scroll_lines(10)",
            "Page down",
            id="events.page_down",
            show=False,
            tooltip="Scroll down a page",
        ),
    ]

    def __init__(self, happened: Callable[[], tuple[Happening, ...]]) -> None:
        super().__init__()
        self._happened = happened
        self._about = Label(id="about", markup=False)
        self._log = EventLog(_MOST, id="all-events", dated=True)

    def compose(self) -> ComposeResult:
        """How many, the list, keys."""
        with Vertical(classes="panel"):
            yield Label("Events", classes="title")
            yield self._about
            yield self._log
            yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Draw; look again now and then."""
        self._log.tooltip = None
        self._look()
        self.set_interval(_LOOK_S, self._look)

    def _look(self) -> None:
        happened = self._happened()
        self._log.show(happened)
        about = f"{units.plural(len(happened), 'event')}, the newest first · ! warning   ✗ error"
        self._about.update(Content(about if happened else "Nothing has happened yet."), layout=False)

    def action_close(self) -> None:
        """Back to the conversation."""
        self.dismiss(None)

    def action_scroll_lines(self, lines: int) -> None:
        """Scroll the list."""
        self._log.scroll_relative(y=lines, animate=False)
