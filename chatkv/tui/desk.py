"""Brings conversation, gauges, store and worker together, and tells the screen what changed.

Plain asyncio, no widgets: the screen hands in wishes and two callbacks, and gets updates and gauges back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from chatkv.errors import ChatkvError, UsageError
from chatkv.protocol import Command, Error, Event, Keep, Notice, PrefixBreak, Set, Summary, Turn
from chatkv.tui.conversation import Conversation
from chatkv.tui.exchange import Front, GiveBack, Issue, Rebuild, Reload, Say, Update
from chatkv.tui.flight import TurnCommand
from chatkv.tui.gauges import Gauges, Meter
from chatkv.tui.inert import one_line
from chatkv.tui.link import Died, Link, Started
from chatkv.tui.slash import Act, as_typed, read
from chatkv.tui.telling import told

if TYPE_CHECKING:
    from chatkv.tui.library import Library


class Desk:
    """Everything behind the screen. `show` gets each update in order, `gauge` the newest gauges."""

    def __init__(
        self,
        library: Library,
        link: Link,
        show: Callable[[Update], None],
        gauge: Callable[[Gauges], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.conversation = Conversation()
        self.library = library
        self._link = link
        self._show = show
        self._gauge = gauge
        self._meter = Meter(clock)
        self._outbox: asyncio.Queue[Command] = asyncio.Queue()
        self._settings: list[Set] = []
        """What was set in this app, the newest last: a worker that takes another's place is told."""
        self._given_up = False

    @property
    def gauges(self) -> Gauges:
        """The newest gauges."""
        return self._meter.gauges

    async def run(self) -> None:
        """Keep a worker and talk to it until `close`."""
        sender = asyncio.create_task(self._send_all())
        try:
            async for item in self._link.news():
                self.hear(item)
        finally:
            sender.cancel()

    async def close(self) -> None:
        """End the worker and close the store; the running answer is saved by the worker."""
        await self._link.close()
        self.library.close()

    def do(self, updates: list[Update]) -> None:
        """Carry out what the conversation answered to a wish."""
        for update in updates:
            match update:
                case Issue(command):
                    self._issue(command)
                case Reload(session):
                    self.open(session)
                case _:
                    self._show(update)
                    if isinstance(update, Rebuild):
                        self._gauge(self.gauges)

    def open(self, wanted: str) -> None:
        """Show a stored session (its transcript at once) and lead the worker to it."""
        try:
            chat = self.library.chat(wanted)
        except ChatkvError as error:
            self._show(Say(str(error), "error"))
            return
        self._meter.open(chat.session.title, chat.rows, chat.compactions)
        self.do(self.conversation.show_session(chat.session.id, chat.session.title, chat.exchanges))

    def new(self, *, carry: bool = False) -> None:
        """Leave for a new session; `carry`: with the summary of this one."""
        self._meter.open("")
        self.do(self.conversation.start_new(carry=carry))

    def enter(self, text: str) -> None:
        """Carry out what was entered: a command or a message. An edited message is never a command."""
        conversation = self.conversation
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
            case Act(name):
                self._act(name, text)
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

    def _act(self, name: str, typed: str) -> None:
        match name:
            case "help":
                self.do([Front("help")])
            case "summary":
                front: list[Update] = [Front("summary")] if self.conversation.ready else []
                self.do([*front, *self.conversation.order(Summary(), typed)])
            case _:
                self.new(carry=name == "new with the summary")

    def rename(self, session: str, title: str) -> None:
        """Give a stored session another title. Raises `ChatkvError`."""
        self.library.rename(session, title)
        if session == self.conversation.session:
            self._retitle()

    def delete(self, session: str) -> None:
        """Delete a stored session; the one on screen is left for a new one first. Raises `ChatkvError`."""
        ours = session == self.conversation.session
        self.library.delete(session, ours=ours)
        if ours:
            self.new()

    def try_again(self) -> bool:
        """Start the worker again after giving up; False if it runs."""
        given_up, self._given_up = self._given_up, False
        if given_up:
            self._link.try_again()
        return given_up

    def hear(self, item: Event | Started | Died) -> None:
        """Take in what the worker said or what became of it."""
        match item:
            case Started():
                self._empty_outbox()
                for command in self._settings:
                    self._outbox.put_nowait(command)
                self.do(self.conversation.on_restart())
            case Error(command="set") if self._settings:
                self._settings.pop()
            case Died(reason, final):
                self._mourn(reason, final)
            case Notice(text, level):
                self._show(Say(text, level))
            case PrefixBreak(tokens=tokens, reason=reason, position=position):
                broken = f"The KV did not hold the prefix from token {position:,}: {tokens:,} tokens are read again."
                self._show(Say(f"{broken} {reason}".strip(), "warning"))
        if isinstance(item, Started | Died):
            return
        moved = self._meter.on_event(item)
        self.do(self.conversation.on_event(item))
        if (said := told(item)) is not None:
            self._show(said)
        if isinstance(item, Turn):
            self._retitle()
        if moved:
            self._gauge(self.gauges)

    def _mourn(self, reason: str, final: bool) -> None:
        self._given_up = final
        self._meter.on_death(final=final)
        self._gauge(self.gauges)
        self.do(self.conversation.on_death())
        if final:
            self._show(Say(f"The model process ended: {one_line(reason)} — F5 tries again.", "error"))
        else:
            self._show(Say(f"The model process died ({one_line(reason)}); restarting it.", "warning"))

    def _retitle(self) -> None:
        session = self.conversation.session
        if session is None:
            return
        try:
            title = self.library.title(session)
        except ChatkvError as error:
            self._show(Say(str(error), "error"))
            return
        if title and title != self.conversation.title:
            self.conversation.title = title
            self._meter.rename(title)
            self._gauge(self.gauges)

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
