"""Brings conversation, gauges, store and worker together, and tells the screen what changed.

Plain asyncio, no widgets: the screen hands in wishes and two callbacks, and gets updates and gauges back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from chatkv.errors import UsageError
from chatkv.protocol import Accepted, Command, Error, Event, Keep, Notice, Set, Summary, Turn
from chatkv.tui.behind.choosing import Choosing
from chatkv.tui.behind.follower import Follower
from chatkv.tui.behind.link import Died, Left, Link, Started
from chatkv.tui.behind.shelf import Shelf
from chatkv.tui.inert import one_line
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.memory.meter import Meter
from chatkv.tui.talk.exchange import Front, GiveBack, Issue, Perform, Rebuild, Refresh, Reload, Say, Update
from chatkv.tui.talk.flight import TurnCommand
from chatkv.tui.talk.telling import told
from chatkv.tui.writing.slash import Act, as_typed, read
from chatkv.tui.writing.wishes import ActName

if TYPE_CHECKING:
    from chatkv.tui.behind.library import Library
    from chatkv.tui.behind.reader import Reader
    from chatkv.tui.behind.stock import Stock


class Desk(Shelf):
    """Everything behind the screen. `show` gets each update in order, `gauge` the newest gauges."""

    def __init__(
        self,
        library: Library,
        reader: Reader,
        link: Link,
        stock: Stock,
        show: Callable[[Update], None],
        gauge: Callable[[Gauges], None],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(library, reader, Meter(clock, now), show, gauge)
        self._follower = Follower(reader, self._followed, self._watch)
        self.models = Choosing(stock, link, self.conversation, self.do)
        self._link = link
        self._outbox: asyncio.Queue[Command] = asyncio.Queue()
        self._settings: list[Set] = []
        """What was set in this app, the newest last: a worker that takes another's place is told."""

    async def run(self) -> None:
        """Keep a worker and talk to it until `close`."""
        beside = [
            asyncio.create_task(work) for work in (self._send_all(), self._follower.run(), self.drafts.run())
        ]
        try:
            async for item in self._link.news():
                self.hear(item)
        finally:
            for task in beside:
                task.cancel()

    async def close(self) -> None:
        """End the worker and close the store; the running answer is saved by the worker."""
        await self.drafts.close()
        await self.models.close()
        await self._link.close()
        await self.reader.close()
        self.library.close()

    def do(self, updates: list[Update]) -> None:
        """Carry out what the conversation answered to a wish."""
        for update in updates:
            match update:
                case Issue(command):
                    self._issue(command)
                case Reload(session):
                    self.open(session)
                case Refresh():
                    self._refresh()
                case _:
                    self._show(update)
                    if isinstance(update, Rebuild):
                        self._gauge(self.gauges)

    def enter(self, text: str) -> None:
        """Carry out what was entered: a command or a message. An edited message is never a command."""
        conversation = self.conversation
        self.drafts.sent()
        if conversation.editing is not None:
            self.do(conversation.submit(text))
            return
        try:
            wish = read(text, conversation.board.last_turn)
        except UsageError as error:
            self.do([GiveBack(text), Say(str(error), "error")])
            return
        match wish:
            case str():
                self.do(conversation.submit(wish))
            case Act("model", about):
                self.models.choose(about, text)
            case Act(name, about):
                self._act(name, about, text)
            case _:
                self.do(conversation.order(wish, text))

    def settle(self, text: str, choice: str | None) -> None:
        """Do with a message that was too long what the person chose; None = back to the composer."""
        match choice:
            case "head":
                self.do(self.conversation.submit(text, head_only=True))
            case "document":
                self.do(self.conversation.order(Keep(text), as_typed(text)))
            case _:
                self.do([GiveBack(as_typed(text))])

    def forget(self, key: str) -> None:
        """Set this no more in workers to come: the file says what it is."""
        self._settings = [command for command in self._settings if command.key != key]

    def _act(self, name: ActName, about: str, typed: str) -> None:
        match name:
            case "retry":
                self.do(self.conversation.regenerate())
            case "continue":
                self.do(self.conversation.extend())
            case "stop":
                self.do(self.conversation.stop() or [Say("Nothing runs.")])
            case "rename":
                self.rename_this(about)
            case "export":
                self.export(about)
            case "edit" | "copy" | "find" | "sessions" | "settings" | "theme" | "quit":
                self.do([Perform(name, about)])
            case "help":
                self.do([Front("help")])
            case "summary":
                front: list[Update] = [Front("summary")] if self.conversation.ready else []
                self.do([*front, *self.conversation.order(Summary(), typed)])
            case _:
                self.new(carry=name == "new with the summary")

    def try_again(self) -> bool:
        """Start the worker again after giving up, or take over what another window had open; False if neither."""
        if self._link.given_up:
            self._link.try_again()
        elif self.conversation.place.writer:
            self.do(self.conversation.take_over())
        else:
            return False
        return True

    def hear(self, item: Event | Started | Left | Died) -> None:
        """Take in what the worker said or what became of it."""
        match item:
            case Started():
                self.conversation.held.loading = self._link.model
                self._empty_outbox()
                self.drafts.begin_anew()
                for command in self._settings:
                    self._outbox.put_nowait(command)
                self.do(self.conversation.on_restart())
            case Error(command="set") if self._settings:
                self._settings.pop()
            case Left() | Died():
                self._mourn(item)
            case Notice(text, level):
                self._show(Say(text, level))
        if isinstance(item, Started | Left | Died):
            return
        moved = self._meter.on_event(item)
        self.do(self.conversation.on_event(item))
        self.drafts.hear(item)
        if (said := told(item)) is not None:
            self._show(said)
        self.models.look()
        if isinstance(item, Accepted | Turn):
            self._branch_out()
        if isinstance(item, Turn):
            self._retitle()
        if moved:
            self._gauge(self.gauges)

    def _mourn(self, end: Left | Died) -> None:
        final, wanted = (False, True) if isinstance(end, Left) else (end.final, bool(end.unloadable))
        self._meter.on_death(final=final, wanted=wanted)
        self._gauge(self.gauges)
        self.do(self.conversation.on_left() if isinstance(end, Left) else self.conversation.on_death())
        match end:
            case Died(unloadable=unloadable) if unloadable:
                self.models.fallen(end)
            case Died(reason, final=True):
                self._show(
                    Say(
                        f"The model process ended: {one_line(reason)} — ⟨chat.try_again⟩ tries again.",
                        "error",
                    )
                )
            case Died(reason):
                self._show(Say(f"The model process died ({one_line(reason)}); restarting it.", "warning"))

    def _issue(self, command: Command) -> None:
        if isinstance(command, TurnCommand):
            self._meter.ask()
        if isinstance(command, Set):
            self._settings.append(command)
        self._outbox.put_nowait(command)

    def _empty_outbox(self) -> None:
        """What waited for the worker before this one was for that one."""
        while not self._outbox.empty():
            self._outbox.get_nowait()

    async def _send_all(self) -> None:
        while True:
            await self._link.send(await self._outbox.get())
