"""Brings conversation, gauges, store and worker together, and tells the screen what changed.

Plain asyncio, no widgets: the screen hands in wishes and two callbacks, and gets updates and gauges back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from chatkv.errors import ChatkvError, UsageError
from chatkv.protocol import Accepted, Command, Error, Event, Keep, Notice, PrefixBreak, Set, Summary, Turn
from chatkv.tui.choosing import Choosing
from chatkv.tui.conversation import Conversation
from chatkv.tui.exchange import Front, GiveBack, Issue, Rebuild, Refresh, Reload, Remark, Say, Update
from chatkv.tui.flight import TurnCommand
from chatkv.tui.follower import Follower
from chatkv.tui.gauges import Gauges, Meter
from chatkv.tui.inert import one_line
from chatkv.tui.link import Died, Left, Link, Started
from chatkv.tui.slash import Act, as_typed, read
from chatkv.tui.telling import told

if TYPE_CHECKING:
    from chatkv.tui.library import Glance, Library, StoredChat
    from chatkv.tui.reader import Reader
    from chatkv.tui.stock import Stock


class Desk:
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
    ) -> None:
        self.conversation = Conversation()
        self.library = library
        self.reader = reader
        self._follower = Follower(reader, self._followed, self._watch)
        self.models = Choosing(stock, link, self.conversation, self.do)
        self._link = link
        self._show = show
        self._gauge = gauge
        self._meter = Meter(clock)
        self._outbox: asyncio.Queue[Command] = asyncio.Queue()
        self._settings: list[Set] = []
        """What was set in this app, the newest last: a worker that takes another's place is told."""

    @property
    def gauges(self) -> Gauges:
        """The newest gauges."""
        return self._meter.gauges

    async def run(self) -> None:
        """Keep a worker and talk to it until `close`."""
        beside = [asyncio.create_task(work) for work in (self._send_all(), self._follower.run())]
        try:
            async for item in self._link.news():
                self.hear(item)
        finally:
            for task in beside:
                task.cancel()

    async def close(self) -> None:
        """End the worker and close the store; the running answer is saved by the worker."""
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

    def open(self, wanted: str, message_id: int | None = None) -> None:
        """Show a stored session (its transcript at once) and lead the worker to it.

        `message_id`: scroll to this message, on its branch.
        """
        try:
            session = self.library.resolve(wanted)
            # A worker that is not ready has opened nothing yet: whoever has it open is somebody else.
            writer = 0 if self.conversation.ready else self.library.writer(session)
            chat = self.library.chat(session, message_id, writer=writer)
        except ChatkvError as error:
            self._show(Say(str(error), "error"))
            return
        stored = chat.session
        self._meter.open(stored.title, chat.rows, chat.compactions)
        updates = self.conversation.show_session(
            stored.id,
            stored.title,
            chat.exchanges,
            model=stored.model,
            spec=stored.spec,
            writer=writer,
            message_id=message_id,
            switch=not chat.in_use,
        )
        self.do(updates)

    def _refresh(self) -> None:
        """Read the branch in use of the session on screen again."""
        conversation = self.conversation
        try:
            chat = self.library.chat(conversation.session or "", writer=conversation.place.writer)
        except ChatkvError as error:
            self._show(Say(str(error), "error"))
            self.do(conversation.unreadable())
            return
        self.do(conversation.refreshed(chat.exchanges))

    def _followed(self) -> str | None:
        """The session that another process writes and the screen shows."""
        return self.conversation.session if self.conversation.place.writer else None

    def _watch(self, session: str, glance: Glance, chat: StoredChat | None) -> None:
        """Take in what another process wrote."""
        if chat is not None:
            self.do(self.conversation.refreshed(chat.exchanges))
        grown = self.conversation.watch(
            writer=glance.writer, answer_id=glance.leaf_id, answer=glance.text, thought=glance.thought
        )
        self.do([*grown, Remark()])
        self._retitle()

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
            case Act("model", about):
                self.models.choose(about, text)
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
        ours = session == self.conversation.session and not self.conversation.place.writer
        self.library.delete(session, ours=ours)
        if ours:
            self.new()

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
                for command in self._settings:
                    self._outbox.put_nowait(command)
                self.do(self.conversation.on_restart())
            case Error(command="set") if self._settings:
                self._settings.pop()
            case Left() | Died():
                self._mourn(item)
            case Notice(text, level):
                self._show(Say(text, level))
            case PrefixBreak(tokens=tokens, reason=reason, position=position):
                broken = f"The KV did not hold the prefix from token {position:,}: {tokens:,} tokens are read again."
                self._show(Say(f"{broken} {reason}".strip(), "warning"))
        if isinstance(item, Started | Left | Died):
            return
        moved = self._meter.on_event(item)
        self.do(self.conversation.on_event(item))
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
                self._show(Say(f"The model process ended: {one_line(reason)} — F5 tries again.", "error"))
            case Died(reason):
                self._show(Say(f"The model process died ({one_line(reason)}); restarting it.", "warning"))

    def _branch_out(self) -> None:
        """See whether another wording or answer stands beside one of the turns now."""
        session = self.conversation.session
        try:
            known = self.library.alternatives(session) if session else {}
        except ChatkvError:
            return
        if self.conversation.branches.learn(known):
            self._show(Remark())

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
