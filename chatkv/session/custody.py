"""Who writes the open session, and whether what is said in it reaches the database.

Knows nothing of models: it asks the store and says what it hears as events.
"""

from __future__ import annotations

from collections.abc import Iterator

from chatkv.errors import StoreError
from chatkv.protocol import (
    Accepted,
    Command,
    Compact,
    Continue,
    Edit,
    Event,
    Fork,
    Keep,
    Notice,
    Pin,
    Regenerate,
    Saving,
    Send,
    Summary,
    Switch,
    Turn,
    Unpin,
)
from chatkv.store import SteadyStore

_CHANGES = (Send, Regenerate, Continue, Edit, Fork, Switch, Compact, Pin, Unpin, Keep)


class Custody:
    """The claim of this process (`owner`) on one session. `writer`: the other process that has it; 0: this one."""

    def __init__(self, store: SteadyStore, owner: str) -> None:
        self._store = store
        self._owner = owner
        self.writer = 0
        self._told = ""
        self._apart = False
        self._unanswered: tuple[str, int] | None = None

    def take(self, session_id: str) -> None:
        """Claim a session; where another process has it, only read it."""
        self._store.session(session_id)  # from here on the store knows it, should its file fail at the claim
        self.writer = self._store.try_claim(session_id, self._owner)

    def leave(self, session_id: str | None) -> None:
        """Let go of a session; None for one that was never stored."""
        if session_id is not None and not self.writer:
            self._store.release(session_id, self._owner)
        self.writer, self._unanswered = 0, None

    def must_take_over(self, command: Command, session_id: str | None) -> bool:
        """Whether `command` needs a session that was only read so far, and that is free now.

        Raises `StoreError` that names the other process while that has it.
        """
        changes = isinstance(command, _CHANGES) or (
            isinstance(command, Summary) and (command.undo or command.text is not None)
        )
        if not changes or not self.writer or session_id is None:
            return False
        self.take(session_id)
        if self.writer:
            raise StoreError(
                f"Session {session_id} is open in another process (pid {self.writer}) and can only be read here.",
                "Close it there and try again, or start a new session.",
            )
        return True

    def note(self, event: Event, session_id: str | None) -> None:
        """Remember a message that a stop left without a token of an answer: it is not on the branch then."""
        if isinstance(event, Accepted):
            self._unanswered = (session_id, event.answer_id) if session_id else None
        elif isinstance(event, Turn) and not (event.finish == "cancelled" and event.decoded == 0):
            self._unanswered = None

    def keep_unanswered(self) -> None:
        """What was stopped was so because all ends, not by choice: the message stays at the end of the branch."""
        if self._unanswered is not None:
            self._store.set_leaf(*self._unanswered)
            self._unanswered = None

    def come_back(self, session_id: str | None) -> str:
        """Try the database again if it is time; the id to open the session under if its ids changed, else empty."""
        if self._store.retry_in_s() != 0:
            return ""
        placed = self._store.retry().get(session_id or "")
        self._apart = placed is not None and placed.session_id != session_id
        return placed.session_id if placed else ""

    def news(self) -> Iterator[Event]:
        """What is to be said of saving since it was last asked for."""
        if bool(self._told) != bool(self._store.trouble):
            self._told = self._store.trouble
            yield Saving(not self._told, self._told)
        if self._apart:
            self._apart = False
            yield Notice(
                "The database has another version of this session: what was said here is saved beside it.",
                "warning",
            )

    def last_words(self) -> Iterator[Event]:
        """After the store was closed: where it saved what the database did not take."""
        if self._store.rescued is not None:
            yield Notice(
                f"The database could not be written. This conversation is in {self._store.rescued}; "
                f"`chatkv --db {self._store.rescued}` opens it.",
                "warning",
            )
