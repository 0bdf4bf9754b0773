"""Puts words where a conversation will be, and keeps them right: at the first start, for each new session, as the
terminal changes its size."""

from __future__ import annotations

from pathlib import Path

from textual.app import App
from textual.content import Content
from textual.widgets import Static

from chatkv.errors import ChatkvError
from chatkv.models.installed import find_model
from chatkv.tui.behind.desk import Desk
from chatkv.tui.behind.room import NO_ROOM, Room
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.welcome import greeting, welcome
from chatkv.tui.settings.keymap import Keymap
from chatkv.tui.settings.preferences import Preferences
from chatkv.tui.talk.exchange import Rebuild, Show, Update


class AppGreeting(App[None]):
    """The part of the app that greets."""

    desk: Desk
    chat: ChatScreen
    keymap: Keymap
    preferences: Preferences
    _models_folder: Path
    _first = False
    """This is the very first start, and nothing was said yet."""
    _tip = 0
    _fetched = False
    _room: Room = NO_ROOM

    async def _greet(self, model: str) -> None:
        """Welcome whoever starts for the first time; others get a tip."""
        n_sessions = await self._n_sessions()
        self._tip = n_sessions
        if n_sessions:
            self._say_hello(greeting(self.keymap, self._tip))
        elif model == "starter" and not self.preferences.file.exists():
            found = find_model(model, self._models_folder)
            self._first, self._fetched = True, bool(found and found.nbytes)
            self._welcome()
            self._room = await self.desk.models.room()
            self._welcome()

    def on_resize(self) -> None:
        """Say as much as there is room for."""
        self._welcome()

    def _heard(self, update: Update) -> None:
        """The first message ends the welcome; each new session has another tip."""
        if isinstance(update, Show) and update.exchange.prompt:
            if self._first:
                self._first = False
                self._say_hello(greeting(self.keymap, None))
        elif isinstance(update, Rebuild) and not self.desk.conversation.board.exchanges and not self._first:
            self._tip += 1
            self._say_hello(greeting(self.keymap, self._tip))

    def _welcome(self) -> None:
        if self._first:
            width = self.chat.query_one("#talk").size.width
            words = welcome(
                self.keymap, self._room, fetched=self._fetched, width=width, height=self.size.height
            )
            self._say_hello(words)

    def _say_hello(self, words: Content) -> None:
        for empty in self.chat.query(".empty").results(Static):
            empty.update(words)

    async def _n_sessions(self) -> int:
        if not self.desk.library.database.exists():
            return 0
        try:
            return len(await self.desk.reader.ask(lambda library: library.sessions(100, 0)))
        except ChatkvError:
            return 1  # the reason is told where sessions are asked for
