"""What is being written: told to the worker when typing rests, kept for its session, found again when one comes back.

Plain asyncio, no widgets. Reads the composer only when it is time to, so that no key costs anything here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from chatkv.errors import ChatkvError
from chatkv.protocol import Count, Counted, Draft, Drafted, Event, Opened, Ready, Turn
from chatkv.tui.talk.conversation import Conversation
from chatkv.tui.talk.exchange import Clear, GiveBack, Issue, Labelled, Restore, Tokens, Update
from chatkv.tui.writing.slash import as_typed, matching, message_of
from chatkv.tui.writing.written import EMPTY, Sheet, Written

if TYPE_CHECKING:
    from chatkv.tui.behind.reader import Reader

REST_S = 0.15
LONGEST_S = 0.5
KEEP_S = 1.0
_CHARS_PER_S = 2_000_000
"""A text is read, told and kept less often the longer it is."""
_MAX_CHARS = 4_000_000
"""No context holds more; such a text is not told."""


class Drafts:
    """One composer. `do` carries out updates, in order."""

    def __init__(
        self, conversation: Conversation, reader: Reader, do: Callable[[list[Update]], None]
    ) -> None:
        self.read: Callable[[], Sheet | None] = lambda: None
        """What is in the composer; None while that is not to be read."""
        self._conversation = conversation
        self._reader = reader
        self._do = do
        self._changed = asyncio.Event()
        self._session: str | None = None
        self._loading: asyncio.Task[None] | None = None
        self._keeping: asyncio.TimerHandle | None = None
        self._saving: set[asyncio.Task[None]] = set()
        self._memory: dict[str | None, Written] = {}
        """What could not be written to the store."""
        self._kept: Written | None = None
        self._told, self._again = "", False
        self._n_chars = self._n_asked = 0
        self._asked: dict[str, tuple[str, str]] = {}
        """Labels and texts whose tokens were asked for, by the key that the answer will have."""

    def touch(self) -> None:
        """Something was written."""
        self._changed.set()

    async def run(self) -> None:
        """Tell and keep until cancelled."""
        if self._loading is None:
            self._load()
        while True:
            await self._changed.wait()
            slow_s = self._n_chars / _CHARS_PER_S
            until = _now() + LONGEST_S + slow_s
            while (rest_s := min(REST_S + slow_s, until - _now())) > 0:
                self._changed.clear()
                try:
                    await asyncio.wait_for(self._changed.wait(), rest_s)
                except TimeoutError:
                    break
            self._changed.clear()
            self._look()

    def hear(self, event: Event) -> None:
        """What the worker says of what is written."""
        match event:
            case Drafted(tokens, free, room) if self._told:
                self._do([Tokens(tokens, free, room)])
            case Counted(key, tokens) if key in self._asked:
                label, text = self._asked.pop(key)
                self._do([Labelled(label, text, tokens) if label else Tokens(tokens)])
            case Ready() | Opened() | Turn():
                self._again = True
                self.touch()

    def begin_anew(self) -> None:
        """Another worker: it has been told nothing."""
        self._told = ""
        self._asked.clear()
        self._do([Tokens(0)])
        self.touch()

    def leave(self, updates: list[Update]) -> list[Update]:
        """Another session is on screen, by these updates: what they give back stays with the one before."""
        sheet = self.read()
        texts = [update.text for update in updates if isinstance(update, GiveBack)]
        if sheet is not None and self._loading is not None:
            self._keep(self._session, _joined(texts, sheet.draft))
        first = self._loading is None
        self._session, self._kept = self._conversation.session, None
        self._again = True
        self._load()
        rest: list[Update] = [update for update in updates if not isinstance(update, GiveBack)]
        return rest if first else [*rest, Clear()]

    def sent(self) -> None:
        """What was written is sent."""
        self._keep(self._session, EMPTY if (sheet := self.read()) is None else sheet.draft)

    async def close(self) -> None:
        """Keep what is written, and what waits to be sent."""
        if self._loading is not None:
            await asyncio.wait([self._loading])
        waiting = [as_typed(turn.prompt) for turn in self._conversation.board.queue]
        sheet = self.read()
        if sheet is not None:
            self._follow()
            self._keep(self._session, _joined(waiting, sheet.draft))
        if self._keeping is not None:
            self._keeping.cancel()
        while self._saving:
            await asyncio.wait(self._saving)

    # Told

    def _look(self) -> None:
        sheet = self.read()
        if sheet is None:
            self.touch()
            return
        self._n_chars = len(sheet.now.text)
        self._follow()
        self._tell(sheet.now)
        if self._keeping is None and sheet.draft != self._kept:
            wait_s = KEEP_S + self._n_chars / _CHARS_PER_S
            self._keeping = asyncio.get_running_loop().call_later(wait_s, self._keep_now)

    def _tell(self, now: Written) -> None:
        conversation = self._conversation
        if not conversation.ready:
            return
        editing = conversation.editing is not None
        closed = conversation.place.writer or conversation.held.strange or len(now.text) > _MAX_CHARS
        message = "" if editing or closed or matching(now.text) else (message_of(now.text) or "")
        message = message if message.strip() else ""
        if message != self._told or (self._again and message):
            self._told = message
            self._do([Issue(Draft(message))])
            if not message and not editing:
                self._do([Tokens(0)])
        self._again = False
        if editing and now.text:
            self._ask("", now.text)
        for start, length, label in () if closed else now.labels:
            if not label.endswith(("token⟧", "tokens⟧")):
                self._ask(label, now.text[start : start + length])

    def _ask(self, label: str, text: str) -> None:
        """Have the tokens of a label's text counted, or (no label) those of all that is written."""
        if (label, text) in self._asked.values() or len(text) > _MAX_CHARS:
            return
        for key in [key for key, (other, _) in self._asked.items() if other == label]:
            del self._asked[key]
        self._n_asked += 1
        self._asked[key := f"written {self._n_asked}"] = (label, text)
        self._do([Issue(Count(key, text))])

    # Kept

    def _follow(self) -> None:
        """The session on screen got its id, or lost it, with what is written in it."""
        session = self._conversation.session
        if session != self._session:
            self._keep(self._session, EMPTY)
            self._session, self._kept = session, None

    def _keep_now(self) -> None:
        self._keeping = None
        sheet = self.read()
        if sheet is not None:
            self._follow()
            self._keep(self._session, sheet.draft)

    def _keep(self, session: str | None, written: Written) -> None:
        if session == self._session and written == self._kept:
            return
        if not written.text and (self._loading is None or self._is_loading):
            return  # what the store has was not on screen yet
        if session == self._session:
            self._kept = written
        self._memory[session] = written
        task = asyncio.create_task(self._save(session, written))
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def _save(self, session: str | None, written: Written) -> None:
        with suppress(ChatkvError):
            kept = await self._reader.ask(lambda library: library.keep_draft(session, written))
            if kept and self._memory.get(session) is written:
                del self._memory[session]

    @property
    def _is_loading(self) -> bool:
        return self._loading is not None and not self._loading.done()

    def _load(self) -> None:
        if self._is_loading and self._loading is not None:
            self._loading.cancel()
        self._loading = asyncio.create_task(self._restore(self._session))

    async def _restore(self, session: str | None) -> None:
        written = self._memory.get(session)
        if written is None:
            try:
                written = await self._reader.ask(lambda library: library.draft(session))
            except ChatkvError:
                written = EMPTY
        if session == self._session:
            self._kept = written
            if written.text:
                self._do([Restore(written)])


def _joined(first: list[str], written: Written) -> Written:
    """These texts before what is written, a blank line between two."""
    if not first:
        return written
    front = "\n\n".join(first) + ("\n\n" if written.text.strip() else "")
    rest = written.text if written.text.strip() else ""
    moved = tuple((start + len(front), length, label) for start, length, label in written.labels)
    return Written(front + rest, moved if rest else ())


def _now() -> float:
    return asyncio.get_running_loop().time()
