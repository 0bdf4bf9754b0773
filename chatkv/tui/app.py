"""The app: puts the screens and what is behind them together. Paints first; everything heavy comes after."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from chatkv.client import WorkerClient
from chatkv.config import Config
from chatkv.errors import WorkerError
from chatkv.models.installed import lasting
from chatkv.paths import Paths
from chatkv.tui.commands import ChatCommands
from chatkv.tui.desk import Desk
from chatkv.tui.exchange import Say, Update
from chatkv.tui.gauges import Gauges
from chatkv.tui.launch import usual_worker_argv, with_model
from chatkv.tui.library import Library, StoredHit, StoredSession
from chatkv.tui.link import Link
from chatkv.tui.listing import Choice
from chatkv.tui.messages import GaugesChanged, Updated
from chatkv.tui.reader import Reader
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.stock import Stock
from chatkv.tui.themes import DARK, THEMES
from chatkv.tui.widgets.composer import Composer

_QUIT_WITHIN_S = 2.0


class ChatkvApp(App[None]):
    """The terminal app.

    `model_typed`: the configured model was named for this run, so that it comes before a session's own. `hub_cache`
    (a folder), `clock` and `now` (seconds; growing, and since the epoch) are given in tests.
    """

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
        model_typed: bool = False,
        worker_argv: Sequence[str] | None = None,
        hub_cache: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._config = config
        self._open_session = open_session
        self._model_typed = model_typed
        self._clock = clock
        self._now = now
        self._interrupted_at: float | None = None
        argv = worker_argv or usual_worker_argv(config, paths, {})

        def client_for(model: str) -> WorkerClient:
            revision = bool(config.load.revision)
            return WorkerClient(with_model(argv, model, revision=revision), log_file=paths.log_file)

        library, reader = (Library(config.database(paths)) for _ in range(2))
        link, stock = Link(client_for, lasting(config.model), clock), Stock(paths.models, hub_cache)
        self.desk = Desk(library, Reader(reader), link, stock, self._show, self._gauge, clock)
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
            await self.desk.models.begin(typed=self._model_typed)
        self.run_worker(asyncio.to_thread(_preload, "chatkv.tui.widgets.prose"), name="preload")
        await self.desk.run()

    def _show(self, update: Update) -> None:
        self.chat.post_message(Updated(update))

    def _gauge(self, gauges: Gauges) -> None:
        self.chat.post_message(GaugesChanged(gauges))

    # What the list of sessions needs

    async def page(self, limit: int, offset: int) -> list[StoredSession]:
        """A page of the stored sessions."""
        return await self.desk.reader.ask(lambda library: library.sessions(limit, offset))

    async def find(self, words: str, limit: int, offset: int) -> list[StoredHit]:
        """A page of the messages with these words."""
        return await self.desk.reader.ask(lambda library: library.search(words, limit, offset))

    async def preview(self, session: str, message_id: int | None) -> list[tuple[bool, str]]:
        """Some messages of a session."""
        return await self.desk.reader.ask(lambda library: library.preview(session, message_id))

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
        from chatkv.tui.screens.models import ModelScreen
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
            "Models": ModelScreen.BINDINGS,
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

    def _chosen(self, choice: Choice | None) -> None:
        if choice is None:
            return
        if choice.session:
            self.desk.open(choice.session, choice.message_id)
        else:
            self.desk.new()


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
    overrides = overrides or {}
    argv = usual_worker_argv(config, paths, overrides)
    typed = "model" in overrides
    app = ChatkvApp(config, paths, open_session=resume, worker_argv=argv, model_typed=typed)
    app.run()
    if app.return_code:
        raise WorkerError(
            "The app stopped on an error of its own.", "Your conversation is saved: `chatkv -r`."
        )
