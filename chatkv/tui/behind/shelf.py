"""Stored conversations on the screen: opened, read again, left, followed while another process writes them.

The ground floor of `desk`: knows the store's reader and the conversation on screen, not the worker.
"""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from chatkv.errors import ChatkvError, UsageError
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.memory.meter import Meter
from chatkv.tui.talk.conversation import Conversation
from chatkv.tui.talk.exchange import Remark, Say, Update
from chatkv.tui.writing.drafts import Drafts

if TYPE_CHECKING:
    from chatkv.tui.behind.library import Glance, Library, StoredChat
    from chatkv.tui.behind.reader import Reader


class Shelf:
    """The conversation on screen and the store that it comes from. `show` and `gauge` as for the desk."""

    def __init__(
        self,
        library: Library,
        reader: Reader,
        meter: Meter,
        show: Callable[[Update], None],
        gauge: Callable[[Gauges], None],
    ) -> None:
        self.conversation = Conversation()
        self.drafts = Drafts(self.conversation, reader, self.do)
        self._exports: set[asyncio.Task[None]] = set()
        self.library = library
        self.reader = reader
        self._meter = meter
        self._tell = show
        self._gauge = gauge

    @property
    def gauges(self) -> Gauges:
        """The newest gauges."""
        return self._meter.gauges

    def _show(self, update: Update) -> None:
        """Hand the screen an update; what is said is noted too."""
        if isinstance(update, Say):
            self._meter.note(update.text, update.level)
            self._gauge(self.gauges)
        self._tell(update)

    def do(self, updates: list[Update]) -> None:
        """Carry out what the conversation answered to a wish."""
        raise NotImplementedError

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
        self._meter.open(stored.title, chat.rows, chat.compactions, chat.happened)
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
        self.do(self.drafts.leave(updates))

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
        self.do(self.drafts.leave(self.conversation.start_new(carry=carry)))

    def rename(self, session: str, title: str) -> None:
        """Give a stored session another title. Raises `ChatkvError`."""
        self.library.rename(session, title)
        if session == self.conversation.session:
            self._retitle()

    def rename_this(self, title: str) -> None:
        """Give the session on screen another title, and say so."""
        session = self.conversation.session
        try:
            if session is None:
                raise UsageError("This session is not stored yet.", "Say something first.")
            self.rename(session, title)
        except ChatkvError as error:
            self.do([Say(str(error), "error")])

    def export(self, path: str) -> None:
        """Write the session on screen to a file (empty: one in the working folder), and say where it is."""
        session = self.conversation.session
        if session is None:
            self.do([Say("This session is not stored yet. Say something first.", "error")])
            return
        file = Path(os.path.expanduser(path or f"chatkv-{session}.md")).absolute()
        self._exports.add(task := asyncio.create_task(self._export(session, file)))
        task.add_done_callback(self._exports.discard)

    async def _export(self, session: str, file: Path) -> None:
        try:
            missing = await self.reader.ask(lambda library: library.export(session, file))
        except ChatkvError as error:
            self.do([Say(str(error), "error")])
        except ValueError as error:  # a NUL in the path
            self.do([Say(f"{file} cannot be written: {error}.", "error")])
        else:
            self.do([Say(f"Written to {file}.{f' {missing}' if missing else ''}")])

    def delete(self, session: str) -> None:
        """Delete a stored session; the one on screen is left for a new one first. Raises `ChatkvError`."""
        ours = session == self.conversation.session and not self.conversation.place.writer
        self.library.delete(session, ours=ours)
        if ours:
            self.new()

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
