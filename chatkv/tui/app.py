"""The app: puts the screens and what is behind them together. Paints first; everything heavy comes after."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from chatkv.client import WorkerClient
from chatkv.config import Config
from chatkv.errors import WorkerError
from chatkv.paths import Paths
from chatkv.tui.commands import ChatCommands
from chatkv.tui.desk import Desk
from chatkv.tui.exchange import Say, Update
from chatkv.tui.gauges import Gauges
from chatkv.tui.launch import usual_worker_argv
from chatkv.tui.library import Library, StoredSession
from chatkv.tui.link import Link
from chatkv.tui.messages import GaugesChanged, Updated
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.themes import DARK, THEMES
from chatkv.tui.widgets.composer import Composer

_QUIT_WITHIN_S = 2.0


class ChatkvApp(App[None]):
    """The terminal app. `clock` and `now` (seconds; growing, and since the epoch) are given in tests."""

    CSS_PATH = "app.tcss"
    TITLE = "chatkv"
    COMMANDS = App.COMMANDS | {ChatCommands}
    ENABLE_COMMAND_PALETTE = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help", id="app.help", priority=True, tooltip="List all keys"),
        Binding(
            "ctrl+q",
            "quit",
            "Quit",
            id="app.quit",
            priority=True,
            show=False,
            tooltip="Quit; the answer is saved",
        ),
        Binding(
            "ctrl+c",
            "interrupt",
            "Quit",
            id="app.interrupt",
            show=False,
            tooltip="Copy the selection; twice: quit",
        ),
    ]

    def __init__(
        self,
        config: Config,
        paths: Paths,
        *,
        open_session: str | None = None,
        worker_argv: Sequence[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._config = config
        self._open_session = open_session
        self._clock = clock
        self._now = now
        self._interrupted_at: float | None = None
        client = WorkerClient(worker_argv or usual_worker_argv(config, paths, {}), log_file=paths.log_file)
        library = Library(config.database(paths))
        self.desk = Desk(library, Link(client, clock), self._show, self._gauge, clock)
        self.chat = ChatScreen(self.desk, sidebar=config.ui.sidebar)
        for theme in THEMES:
            self.register_theme(theme)
        known = config.ui.theme in self.available_themes
        self.theme = config.ui.theme if known else DARK.name
        self._theme_unknown = not known

    def on_mount(self) -> None:
        """Paint; begin to work when that is done."""
        self.push_screen(self.chat)
        self.call_after_refresh(self._begin)

    async def on_unmount(self) -> None:
        """Leave no process behind."""
        await self.desk.close()

    def _begin(self) -> None:
        self.run_worker(self._work(), name="desk")

    async def _work(self) -> None:
        if self._theme_unknown:
            self._show(Say(f"There is no theme {self._config.ui.theme!r}; ctrl+p lists them.", "warning"))
        if self._open_session is not None:
            await asyncio.to_thread(_preload, "chatkv.store")
            self.desk.open(self._open_session)
        self.run_worker(asyncio.to_thread(_preload, "chatkv.tui.widgets.prose"), name="preload")
        await self.desk.run()

    def _show(self, update: Update) -> None:
        self.chat.post_message(Updated(update))

    def _gauge(self, gauges: Gauges) -> None:
        self.chat.post_message(GaugesChanged(gauges))

    # What the list of sessions needs

    def sessions(self) -> list[StoredSession]:
        """All stored sessions."""
        return self.desk.library.sessions()

    def rename(self, session: str, title: str) -> None:
        """Give a session another title."""
        self.desk.rename(session, title)

    def delete(self, session: str) -> None:
        """Delete a session."""
        self.desk.delete(session)

    # Keys. Screens that come later are imported then, so that the first one comes sooner.

    def action_help(self) -> None:
        """List all keys of all places, or close that list."""
        from chatkv.tui.screens.help import HelpScreen
        from chatkv.tui.screens.sessions import SessionsScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss()
            return
        palette = Binding(
            "ctrl+p", "command_palette", "Commands", tooltip="Search all commands, change the theme"
        )
        places = {
            "Conversation": ChatScreen.BINDINGS,
            "Message": Composer.BINDINGS,
            "Sessions": SessionsScreen.BINDINGS,
            "Everywhere": [*ChatkvApp.BINDINGS, palette],
        }
        self.push_screen(HelpScreen(places))

    def action_sessions(self) -> None:
        """Choose a session."""
        from chatkv.tui.screens.sessions import SessionsScreen

        self.push_screen(SessionsScreen(self, self.desk.conversation.session, self._now), self._chosen)

    def action_interrupt(self) -> None:
        """Quit at the second time."""
        now = self._clock()
        if self._interrupted_at is not None and now - self._interrupted_at < _QUIT_WITHIN_S:
            self.exit()
            return
        self._interrupted_at = now
        self.notify("Press Ctrl+C again to quit.", timeout=_QUIT_WITHIN_S)

    def _chosen(self, session: str | None) -> None:
        if session == "":
            self.desk.new()
        elif session is not None:
            self.desk.open(session)


def _preload(module: str) -> None:
    """Import what is needed soon in a thread, so that no key has to wait for it."""
    importlib.import_module(module)


def run_app(
    config: Config, paths: Paths, resume: str | None, overrides: Mapping[str, Any] | None = None
) -> None:
    """Run the app until the person quits.

    `resume`: an id, the unique beginning of one, or `last`. `overrides`: dotted settings typed for this run, which
    the worker process needs too.
    """
    argv = usual_worker_argv(config, paths, overrides or {})
    app = ChatkvApp(config, paths, open_session=resume, worker_argv=argv)
    app.run()
    if app.return_code:
        raise WorkerError(
            "The app stopped on an error of its own.", "Your conversation is saved: `chatkv -r`."
        )
