"""The stored conversations as the screens want them. The one place of the app that talks to the store.

Opens it at first use, after the first paint. Reads, renames and deletes; messages are the worker's to write.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from chatkv.errors import UsageError
from chatkv.tui.memory.gauges import TurnRow
from chatkv.tui.memory.happenings import Happening, remembered
from chatkv.tui.talk.branches import with_alternatives
from chatkv.tui.talk.exchange import Exchange
from chatkv.tui.talk.pairing import pair, paired_row
from chatkv.tui.writing.written import EMPTY, Written

if TYPE_CHECKING:
    from pathlib import Path

    from chatkv.store import MessageRecord, SearchHit, SessionRecord, Store

_PREVIEW_MESSAGES = 8


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A line of the session list. `updated_at` is seconds since the epoch."""

    id: str
    title: str
    model: str
    updated_at: float
    n_messages: int
    spec: str = ""
    """What that model is loaded by; empty where it is not known."""


@dataclass(frozen=True, slots=True)
class StoredChat:
    """A conversation read from the store: one branch and what its turns cost."""

    session: StoredSession
    exchanges: tuple[Exchange, ...]
    rows: tuple[TurnRow, ...]
    compactions: tuple[int, ...] = ()
    """How many of the turns were there when room was made, each time."""
    in_use: bool = True
    """Whether this is the branch in use."""
    happened: tuple[Happening, ...] = ()
    """What was noted, the newest first."""


@dataclass(frozen=True, slots=True)
class StoredHit:
    """A message that holds the words that were looked for; `message_id` None: the title does."""

    session: str
    title: str
    message_id: int | None
    mine: bool
    snippet: str
    spans: tuple[tuple[int, int], ...]
    """Where the words lie in `snippet`, in characters."""
    created_at: float


@dataclass(frozen=True, slots=True)
class Glance:
    """How far another process is in a session that it writes. `writer` 0: it has let go of it."""

    writer: int
    leaf_id: int | None = None
    n_messages: int = 0
    status: str = ""
    text: str = ""
    thought: str = ""

    @property
    def shape(self) -> tuple[object, ...]:
        """What differs when more happened than that the newest answer grew."""
        return self.leaf_id, self.n_messages, self.status, bool(self.writer)


class Library:
    """Used from one thread. Every method may raise `StoreError`; those about one session also `UsageError`."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self._store: Store | None = None

    def sessions(self, limit: int, offset: int = 0) -> list[StoredSession]:
        """A page of the sessions, the most recently used first."""
        return [_session(record) for record in self._opened().list_sessions(limit, offset)]

    def search(self, words: str, limit: int, offset: int = 0) -> list[StoredHit]:
        """Messages of all sessions with these words, best first."""
        return [_hit(found) for found in self._opened().search(words, limit=limit, offset=offset)]

    def preview(self, session: str, message_id: int | None = None) -> list[tuple[bool, str]]:
        """The last messages of a session, or those around one: whether the person said it, and what."""
        store = self._opened()
        path = _branch(store, store.session(session).leaf_id, message_id)
        ids = [message.id for message in path]
        at = ids.index(message_id) if message_id in ids else len(path)
        first = max(0, min(at - 1, len(path) - _PREVIEW_MESSAGES))
        shown = path[first : first + _PREVIEW_MESSAGES]
        return [(message.role == "user", message.text) for message in shown]

    def chat(self, wanted: str, message_id: int | None = None, *, writer: int = 0) -> StoredChat:
        """The conversation that an id, the unique beginning of one, or `last` means: its branch in use, or the one
        that holds `message_id`. `writer`: the process that writes in it, so that an open answer is still coming."""
        store = self._opened()
        record = store.resolve(wanted)
        path = _branch(store, record.leaf_id, message_id)
        turns = store.turns(record.id)
        made = [summary.created_at for summary in store.summaries(record.id) if summary.origin != "edited"]
        compactions = tuple(sum(turn.created_at <= moment for turn in turns) for moment in made)
        exchanges = with_alternatives(pair(path, live=bool(writer)), store.alternatives(record.id))
        in_use = not path or path[-1].id == record.leaf_id
        rows = tuple(map(paired_row, turns))
        noted = (remembered(event.kind, event.data, event.created_at) for event in store.events(record.id))
        happened = tuple(one for one in noted if one is not None)[::-1]
        return StoredChat(_session(record), tuple(exchanges), rows, compactions, in_use, happened)

    def alternatives(self, session: str) -> dict[int, tuple[int, ...]]:
        """Children by parent id (0 = the beginning), where there is more than one."""
        return self._opened().alternatives(session)

    def resolve(self, wanted: str) -> str:
        """The id of the session that is meant."""
        return self._opened().resolve(wanted).id

    def writer(self, session: str) -> int:
        """The living process that has the session open for writing; 0 if none has."""
        holder = self._opened().holder(session)
        return int(holder.partition(":")[0]) if holder else 0

    def glance(self, session: str) -> Glance:
        """How far the process that writes in a session is."""
        store, writer = self._opened(), self.writer(session)
        record = store.session(session)
        if record.leaf_id is None:
            return Glance(writer, None, record.n_messages)
        leaf = store.message(record.leaf_id)
        return Glance(writer, leaf.id, record.n_messages, leaf.status, leaf.text, leaf.thought)

    def title(self, session: str) -> str:
        """The session's title now; empty while it is not stored."""
        try:
            return self._opened().session(session).title
        except UsageError:
            return ""

    def rename(self, session: str, title: str) -> None:
        """Give the session another title."""
        self._opened().rename(session, title)

    def delete(self, session: str, *, ours: bool) -> None:
        """Delete it for good. Refuses one that another process has open; `ours`: our own worker has it."""
        store = self._opened()
        if not ours and store.holder(session) is not None:
            raise UsageError("That session is open in another process.", "Close it there first.")
        store.delete(session)

    def draft(self, session: str | None) -> Written:
        """What was being written in a session (None: in one that is not stored yet)."""
        found = self._opened().draft(session)
        return Written(found.text, found.labels) if found else EMPTY

    def keep_draft(self, session: str | None, written: Written) -> bool:
        """Keep what is being written in a session; False where that cannot be kept."""
        return self._opened().set_draft(session, written.text, written.labels)

    def asked(self, limit: int, before: int | None) -> list[tuple[int, str]]:
        """Ids and texts of the newest messages of the person in all sessions, below the id `before`, newest first."""
        return [(found.message_id, found.text) for found in self._opened().asked(limit, before)]

    def export(self, session: str, file: Path) -> str:
        """Write a session to a new file, as JSON if it ends so, else as Markdown; what that leaves out."""
        from chatkv.transfer.exporting import export_sessions

        store = self._opened()
        said: list[str] = []
        form: Literal["json", "markdown"] = "json" if file.suffix.lower() == ".json" else "markdown"
        export_sessions(store, [store.session(session)], form, file, said.append, said.append)
        return " ".join(said)

    def close(self) -> None:
        """Close the database, if it was opened."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _opened(self) -> Store:
        if self._store is None:
            # SQLite must not be imported before the first paint.
            module = importlib.import_module("chatkv.store")
            self._store = module.Store.open(self.database)
        assert self._store is not None
        return self._store


def _branch(store: Store, leaf_id: int | None, message_id: int | None) -> list[MessageRecord]:
    """The branch in use, or the one with `message_id` if that is another."""
    path = store.path(leaf_id)
    if message_id is None or any(message.id == message_id for message in path):
        return path
    return store.path(store.newest_leaf(message_id).id)


def _session(record: SessionRecord) -> StoredSession:
    fields = (record.id, record.title, record.model, record.updated_at, record.n_messages)
    return StoredSession(*fields, record.spec)


def _hit(found: SearchHit) -> StoredHit:
    mine = found.role == "user"
    place = (found.session_id, found.session_title, found.message_id or None, mine)
    return StoredHit(*place, found.snippet, found.spans, found.created_at)
