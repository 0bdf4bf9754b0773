"""The app: puts the screens and what is behind them together. Paints first; everything heavy comes after."""

from __future__ import annotations

import asyncio
import gc
import importlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import App
from textual.binding import BindingType
from textual.command import CommandInput, CommandPalette

from chatkv.client import WorkerClient
from chatkv.config import Config
from chatkv.errors import WorkerError
from chatkv.models.installed import lasting
from chatkv.paths import Paths
from chatkv.tui.attention import GIVE_TITLE_BACK, KEEP_TITLE, Attention, call, titled
from chatkv.tui.behind.desk import Desk
from chatkv.tui.behind.launch import usual_worker_argv, with_model
from chatkv.tui.behind.library import Library, StoredHit, StoredSession
from chatkv.tui.behind.link import Link
from chatkv.tui.behind.listing import Choice
from chatkv.tui.behind.reader import Reader
from chatkv.tui.behind.room import Room, room_for_a_model
from chatkv.tui.behind.stock import Stock
from chatkv.tui.commands import ChatCommands
from chatkv.tui.greeting import AppGreeting
from chatkv.tui.inert import SHOWABLE
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.messages import GaugesChanged, Updated
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.welcome import farewell
from chatkv.tui.settings.app_keys import APP_KEYS
from chatkv.tui.settings.app_settings import AppSettings
from chatkv.tui.settings.keymap import Keymap, read_keymap
from chatkv.tui.settings.preferences import Preferences
from chatkv.tui.settings.themes import DARK, THEMES
from chatkv.tui.talk.exchange import Say, Update

_QUIT_WITHIN_S = 2.0
_STYLES = ("base", "transcript", "composer", "sidebar", "sizes", "screens")


class ChatkvApp(AppSettings, AppGreeting):
    """The terminal app.

    `model_typed`: the configured model was named for this run, so that it comes before a session's own. `overrides`:
    the dotted settings that were typed for it. `hub_cache` (a folder), `room` for a model, `clock` and `now` (seconds;
    growing, and since the epoch) are given in tests. Raises `ConfigError` for configured keys that do not exist.
    """

    CSS_PATH: ClassVar = [f"styles/{name}.tcss" for name in _STYLES]
    TITLE = "chatkv"
    COMMANDS = App.COMMANDS | {ChatCommands}
    ENABLE_COMMAND_PALETTE = True

    BINDINGS: ClassVar[list[BindingType]] = APP_KEYS

    def __init__(
        self,
        config: Config,
        paths: Paths,
        *,
        open_session: str | None = None,
        model_typed: bool = False,
        overrides: Mapping[str, Any] | None = None,
        worker_argv: Sequence[str] | None = None,
        hub_cache: Path | None = None,
        room: Callable[[Gauges], Awaitable[Room]] = room_for_a_model,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._config, self._paths, self._models_folder = config, paths, paths.models
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
        stock = Stock(paths.models, hub_cache, lambda: room(self.desk.gauges))
        link = Link(client_for, lasting(config.model), clock)
        self.desk = Desk(library, Reader(reader), link, stock, self._show, self._gauge, clock, now)
        self.chat = ChatScreen(self.desk, sidebar=config.ui.sidebar)
        for theme in THEMES:
            self.register_theme(theme)
        known = config.ui.theme in self.available_themes
        self.theme = config.ui.theme if known else DARK.name
        self._theme_unknown = not known
        self.keymap = read_keymap(config.keys) if config.keys else Keymap()
        self.preferences = Preferences(paths, overrides, themes=sorted(self.available_themes))
        self.attention = Attention(lambda: not self.app_focus, self._call, clock, on=config.ui.notify)
        self._window_title = ""

    def on_mount(self) -> None:
        """Paint; begin to work when that is done."""
        self.push_screen(self.chat)
        self._use_keymap()
        self.theme_changed_signal.subscribe(self, self._keep_theme)
        self._write(KEEP_TITLE)
        self.call_after_refresh(self._begin)

    async def on_unmount(self) -> None:
        """Leave no process behind, and the window's title as it was."""
        self._write(GIVE_TITLE_BACK)
        await self.desk.close()

    def _begin(self) -> None:
        self.run_worker(self._work(), name="desk")

    async def _work(self) -> None:
        if self._theme_unknown:
            palette = self.keymap.spoken("app.palette")
            said = f"There is no theme {self._config.ui.theme!r}; {palette} lists them."
            self._show(Say(said, "warning"))
        if self._open_session is not None:
            await asyncio.to_thread(_preload, "chatkv.store")
            self.desk.open(self._open_session)
            await self.desk.models.begin(typed=self._model_typed)
        else:
            self.run_worker(self._greet(self._config.model), name="greeting")
        self.run_worker(asyncio.to_thread(_preload, "chatkv.tui.prose.prose"), name="preload")
        await self.desk.run()

    def _show(self, update: Update) -> None:
        if isinstance(update, Say) and update.level == "error":
            self.attention.fail(update.text)
        self._heard(update)
        self.chat.post_message(Updated(update))

    def _gauge(self, gauges: Gauges) -> None:
        self.attention.hear(gauges)
        if (title := gauges.title or "chatkv") != self._window_title:
            self._window_title = title
            self._write(titled(title))
        self.chat.post_message(GaugesChanged(gauges))

    def _call(self, text: str) -> None:
        self._write(call(text))

    def _write(self, sequences: str) -> None:
        """Tell the terminal itself something; nothing where there is none."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequences)
            self._driver.flush()

    @on(CommandPalette.Opened)
    def _on_palette(self) -> None:
        """Textual's own line shows what is pasted as it is: let it take only what can be shown."""
        self.screen.query_one(CommandInput).restrict = SHOWABLE

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

        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss()
            return
        self.push_screen(HelpScreen(self.keymap, str(self.preferences.file)))

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
        key = self.keymap.spoken("app.interrupt")
        self.notify(f"Press {key} again to quit.", timeout=_QUIT_WITHIN_S)

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
    config: Config,
    paths: Paths,
    resume: str | None,
    overrides: Mapping[str, Any] | None = None,
    *,
    inline: bool = False,
) -> None:
    """Run the app until the person quits.

    `resume`: an id, the unique beginning of one, or `last`. `overrides`: dotted settings typed for this run, which
    the worker process needs too. `inline`: below the prompt instead of in a screen of its own; what was said last stays
    there.
    """
    overrides = overrides or {}
    argv = usual_worker_argv(config, paths, overrides)
    typed = "model" in overrides
    app = ChatkvApp(
        config, paths, open_session=resume, worker_argv=argv, model_typed=typed, overrides=overrides
    )
    gc.freeze()  # modules last as long as the app: no need to search them for garbage while an answer streams
    app.run(inline=inline)
    if app.return_code:
        raise WorkerError(
            "The app stopped on an error of its own.", "Your conversation is saved: `chatkv -r`."
        )
    last = app.desk.conversation.board.last
    if inline and last is not None:
        print(farewell(last))
