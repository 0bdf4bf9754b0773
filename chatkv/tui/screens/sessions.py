"""The list of conversations: filter as you type, open, start anew, rename, delete."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Label, OptionList
from textual.widgets.option_list import Option

from chatkv.errors import ChatkvError
from chatkv.tui import units
from chatkv.tui.inert import one_line
from chatkv.tui.library import StoredSession
from chatkv.tui.screens.ask import ConfirmScreen, NameScreen


class Shelf(Protocol):
    """What the list needs of whoever keeps the sessions. Every method may raise `ChatkvError`."""

    def sessions(self) -> list[StoredSession]:
        """All of them, the most recently used first."""

    def rename(self, session: str, title: str) -> None:
        """Give one another title."""

    def delete(self, session: str) -> None:
        """Delete one for good."""


class SessionsScreen(ModalScreen[str | None]):
    """Leaves with the id of the session to open, an empty one for a new session, or None for no change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "open", "Open", id="sessions.open", priority=True, tooltip="Open the marked session"
        ),
        Binding("ctrl+n", "new", "New", id="sessions.new", priority=True, tooltip="Start a new session"),
        Binding(
            "ctrl+r", "rename", "Rename", id="sessions.rename", priority=True, tooltip="Change the title"
        ),
        Binding(
            "ctrl+d",
            "delete",
            "Delete",
            id="sessions.delete",
            priority=True,
            tooltip="Delete the marked session for good, after a question",
        ),
        Binding("escape", "close", "Back", id="sessions.close", tooltip="Back to the conversation"),
        Binding(
            "up", "move(-1)", "Up", id="sessions.up", priority=True, show=False, tooltip="Mark the one above"
        ),
        Binding(
            "down",
            "move(1)",
            "Down",
            id="sessions.down",
            priority=True,
            show=False,
            tooltip="Mark the one below",
        ),
        Binding(
            "pageup",
            "move(-8)",
            "Page up",
            id="sessions.pageup",
            priority=True,
            show=False,
            tooltip="Eight up",
        ),
        Binding(
            "pagedown",
            "move(8)",
            "Page down",
            id="sessions.pagedown",
            priority=True,
            show=False,
            tooltip="Eight down",
        ),
    ]

    def __init__(self, shelf: Shelf, current: str | None, now: Callable[[], float]) -> None:
        super().__init__()
        self._shelf = shelf
        self._current = current
        self._now = now
        self._sessions: list[StoredSession] = []
        self._filter = Input(placeholder="Type to filter", compact=True, id="filter")
        self._list = OptionList(compact=True)
        self._list.can_focus = False
        self._count = Label(id="count")

    def compose(self) -> ComposeResult:
        """Filter, list, count."""
        with Vertical(classes="panel"):
            yield Label("Sessions", classes="title")
            yield self._filter
            yield self._list
            yield self._count
            yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Read the list."""
        self._reload()
        self._filter.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what fits the filter."""
        self._draw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click opens."""
        self.dismiss(event.option.id)

    def action_open(self) -> None:
        """Open the marked session."""
        if marked := self._marked():
            self.dismiss(marked.id)

    def action_new(self) -> None:
        """Leave for a new session."""
        self.dismiss("")

    def action_close(self) -> None:
        """Leave without a wish."""
        self.dismiss(None)

    def action_move(self, steps: int) -> None:
        """Move the mark, not past the ends."""
        if self._list.option_count:
            at = (self._list.highlighted or 0) + steps
            self._list.highlighted = max(0, min(self._list.option_count - 1, at))

    def action_rename(self) -> None:
        """Ask for another title."""
        if marked := self._marked():
            self.app.push_screen(NameScreen(marked.title), lambda title: self._rename(marked.id, title))

    def action_delete(self) -> None:
        """Ask, then delete."""
        if marked := self._marked():
            detail = f"{units.plural(marked.n_messages, 'message')} will be gone for good."
            question = ConfirmScreen(f"Delete “{_title(marked)}”?", detail, "Delete")
            self.app.push_screen(question, lambda yes: self._delete(marked.id) if yes else None)

    def _rename(self, session: str, title: str | None) -> None:
        if title is not None:
            self._try(lambda: self._shelf.rename(session, title))

    def _delete(self, session: str) -> None:
        self._try(lambda: self._shelf.delete(session))

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except ChatkvError as error:
            self.notify(str(error), severity="error", markup=False)
        self._reload()

    def _reload(self) -> None:
        try:
            self._sessions = self._shelf.sessions()
        except ChatkvError as error:
            self._sessions = []
            self.notify(str(error), severity="error", markup=False)
        self._draw()

    def _draw(self) -> None:
        marked = self._list.highlighted or 0
        words = self._filter.value.casefold().split()
        fitting = [s for s in self._sessions if all(word in f"{s.title} {s.id}".casefold() for word in words)]
        self._list.clear_options()
        self._list.add_options(Option(self._row(session), id=session.id) for session in fitting)
        self._list.highlighted = min(marked, len(fitting) - 1) if fitting else None
        none = "Nothing fits the filter." if self._sessions else "No sessions yet: say something first."
        self._count.update(f"{len(fitting):,} of {len(self._sessions):,}" if fitting else none)

    def _row(self, session: StoredSession) -> Content:
        mark = "● " if session.id == self._current else "  "
        amount = units.plural(session.n_messages, "message")
        when = units.when(session.updated_at, self._now())
        details = f"  {when} · {amount} · {one_line(session.model)}"
        return Content.assemble(f"{mark}{_title(session)}", "\n", (details, "dim"))

    def _marked(self) -> StoredSession | None:
        at = self._list.highlighted
        option = self._list.get_option_at_index(at) if at is not None else None
        return next((session for session in self._sessions if option and session.id == option.id), None)


def _title(session: StoredSession) -> str:
    return one_line(session.title) or "Untitled"
