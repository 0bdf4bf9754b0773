"""The list of conversations: one box filters titles and searches all messages; open, start anew, rename, delete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar, Protocol

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Label, OptionList, Static

from chatkv.errors import ChatkvError
from chatkv.tui import units
from chatkv.tui.behind import listing
from chatkv.tui.behind.library import StoredHit, StoredSession
from chatkv.tui.behind.listing import Choice
from chatkv.tui.screens.ask import ConfirmScreen, NameScreen
from chatkv.tui.screens.session_keys import SESSION_KEYS
from chatkv.tui.widgets.inert_input import InertInput
from chatkv.tui.widgets.session_list import SessionList
from chatkv.tui.widgets.session_rows import preview, title

_PAGE = 1000
_HITS = 20
_TYPING_S = 0.15
_PREVIEW_S = 0.08


class Shelf(Protocol):
    """What the list needs of whoever keeps the sessions. Every method may raise `ChatkvError`."""

    async def page(self, limit: int, offset: int) -> list[StoredSession]:
        """A page of them, the most recently used first."""

    async def find(self, words: str, limit: int, offset: int) -> list[StoredHit]:
        """A page of the messages with these words, best first."""

    async def preview(self, session: str, message_id: int | None) -> list[tuple[bool, str]]:
        """Some messages of one: whether the person said it, and what."""

    def rename(self, session: str, title: str) -> None:
        """Give one another title."""

    def delete(self, session: str) -> None:
        """Delete one for good."""


class SessionsScreen(ModalScreen[Choice | None]):
    """Leaves with a choice, or None for no change. Typing never waits: what takes time is read beside the screen."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 (an instance variable in Textual's types)
    BINDINGS: ClassVar[list[BindingType]] = SESSION_KEYS

    def __init__(self, shelf: Shelf, current: str | None, now: Callable[[], float]) -> None:
        super().__init__()
        self._shelf = shelf
        self._sessions: list[StoredSession] = []
        self._hits: list[StoredHit] = []
        self._more_hits = False
        self._loaded = False
        self._filter = InertInput(
            placeholder="Type to filter titles and search all messages", compact=True, id="filter"
        )
        self._list = SessionList(current, now)
        self._preview = Static(id="preview-text")
        self._count = Label(id="count")

    def compose(self) -> ComposeResult:
        """Filter, list beside a preview, count."""
        with Vertical(classes="panel"):
            yield Label("Sessions", classes="title")
            yield self._filter
            with Horizontal():
                yield self._list
                with VerticalScroll(id="preview", can_focus=False):
                    yield self._preview
            yield self._count
            yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Write at once; the list comes as it is read."""
        self._filter.focus()
        self._reload()

    @property
    def words(self) -> str:
        """What is typed."""
        return self._filter.value

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the titles that fit at once, messages as soon as they are found."""
        self._hits, self._more_hits = [], False
        self._draw(keep=False)
        self._search(_TYPING_S)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click opens."""
        self.action_open()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show what is marked, and have more to mark below it."""
        self._look()

    def on_session_list_end_near(self) -> None:
        """Look for more messages with the words."""
        if self._more_hits:
            self._more_hits = False
            self._search(0)

    def action_open(self) -> None:
        """Open what is marked."""
        marked = self._list.marked
        if marked is not None and (choice := listing.choice(marked)) is not None:
            self.dismiss(choice)

    def action_new(self) -> None:
        """Leave for a new session."""
        self.dismiss(Choice(""))

    def action_close(self) -> None:
        """Leave without a wish."""
        self.dismiss(None)

    def action_move(self, steps: int) -> None:
        """Move the mark, not past the ends."""
        self._list.move(steps)

    def action_rename(self) -> None:
        """Ask for another title."""
        if marked := self._marked_session():
            self.app.push_screen(NameScreen(marked.title), lambda title: self._rename(marked.id, title))

    def action_delete(self) -> None:
        """Ask, then delete."""
        if marked := self._marked_session():
            detail = f"{units.plural(marked.n_messages, 'message')} will be gone for good."
            question = ConfirmScreen(f"Delete “{title(marked.title)}”?", detail, "Delete")
            self.app.push_screen(question, lambda yes: self._delete(marked.id) if yes else None)

    def _marked_session(self) -> StoredSession | None:
        marked = self._list.marked
        wanted = listing.choice(marked) if marked is not None else None
        return next((one for one in self._sessions if wanted and one.id == wanted.session), None)

    def _rename(self, session: str, title: str | None) -> None:
        if title is not None:
            self._try(lambda: self._shelf.rename(session, title))

    def _delete(self, session: str) -> None:
        self._try(lambda: self._shelf.delete(session))

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except ChatkvError as error:
            self._complain(error)
        self._reload()

    def _complain(self, error: ChatkvError) -> None:
        self.notify(str(error), severity="error", markup=False)

    def _reload(self) -> None:
        self._load()
        if self.words.strip():
            self._hits = []
            self._search(0)

    @work(group="load", exclusive=True)
    async def _load(self) -> None:
        """All titles, page by page; the first one is on the screen before the second is asked for."""
        sessions: list[StoredSession] = []
        try:
            while page := await self._shelf.page(_PAGE if sessions else _PAGE // 10, len(sessions)):
                sessions += page
                if len(sessions) > len(self._sessions):
                    self._sessions = list(sessions)
                    self._draw(keep=True)
        except ChatkvError as error:
            self._complain(error)
        self._sessions, self._loaded = sessions, True
        self._draw(keep=True)

    @work(group="search", exclusive=True)
    async def _search(self, delay_s: float) -> None:
        """One more page of messages with the words."""
        words = self.words
        if not words.strip():
            return
        await asyncio.sleep(delay_s)
        try:
            found = await self._shelf.find(words, _HITS, len(self._hits))
        except ChatkvError as error:
            self._complain(error)
            return
        self._hits, self._more_hits = [*self._hits, *found], len(found) == _HITS
        self._draw(keep=True)

    @work(group="preview", exclusive=True)
    async def _look(self) -> None:
        """The preview of what is marked, where there is room for one."""
        marked = self._list.marked
        wanted = listing.choice(marked) if marked is not None else None
        if not self.has_class("-wide") or wanted is None:
            self._preview.update("")
            return
        await asyncio.sleep(_PREVIEW_S)
        try:
            self._preview.update(preview(await self._shelf.preview(wanted.session, wanted.message_id)))
        except ChatkvError:
            self._preview.update("")

    def _draw(self, *, keep: bool) -> None:
        titles = listing.fitting(self._sessions, self.words)
        rows = listing.rows(titles, self._hits, self.words)
        self._list.show(rows, keep=keep)
        counted = f"{len(titles):,} of {len(self._sessions):,}"
        if n_found := sum(isinstance(row, StoredHit) for row in rows):
            counted += f" · {n_found:,}{'+' if self._more_hits else ''} in the conversations"
        none = "Nothing fits." if self._sessions else "No sessions yet: say something first."
        self._count.update(counted if titles or self._hits else none if self._loaded else "reading …")
