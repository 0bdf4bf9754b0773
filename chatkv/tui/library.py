"""The stored conversations as the screens want them. The one place of the app that talks to the store.

Opens it at first use, after the first paint. Reads, renames and deletes; messages are the worker's to write.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chatkv.errors import UsageError
from chatkv.tui.exchange import Exchange, State
from chatkv.tui.gauges import TurnRow
from chatkv.tui.telling import stored_recollection

if TYPE_CHECKING:
    from pathlib import Path

    from chatkv.store import MessageRecord, SessionRecord, Store, TurnRecord

_LIST_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A line of the session list. `updated_at` is seconds since the epoch."""

    id: str
    title: str
    model: str
    updated_at: float
    n_messages: int


@dataclass(frozen=True, slots=True)
class StoredChat:
    """A conversation read from the store: its branch in use and what its turns cost."""

    session: StoredSession
    exchanges: tuple[Exchange, ...]
    rows: tuple[TurnRow, ...]
    compactions: tuple[int, ...] = ()
    """How many of the turns were there when room was made, each time."""


class Library:
    """Used from one thread. Every method may raise `StoreError`; those about one session also `UsageError`."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self._store: Store | None = None

    def sessions(self) -> list[StoredSession]:
        """All sessions, the most recently used first."""
        return [_session(record) for record in self._opened().list_sessions(_LIST_LIMIT)]

    def chat(self, wanted: str) -> StoredChat:
        """The conversation that an id, the unique beginning of one, or `last` means."""
        store = self._opened()
        record = store.resolve(wanted)
        exchanges = pair(store.path(record.leaf_id))
        turns = store.turns(record.id)
        made = [summary.created_at for summary in store.summaries(record.id) if summary.origin != "edited"]
        compactions = tuple(sum(turn.created_at <= moment for turn in turns) for moment in made)
        return StoredChat(_session(record), exchanges, tuple(map(_row, turns)), compactions)

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


def pair(messages: Sequence[MessageRecord]) -> tuple[Exchange, ...]:
    """Messages of one branch as turns. A question whose answer never began counts as stopped."""
    turns: list[Exchange] = []
    for message in messages:
        if message.role == "user":
            turns.append(_asked(message))
            continue
        asked = turns.pop() if turns and turns[-1].answer_id is None else Exchange(0, "")
        said = replace(asked, answer=message.text, thought=message.thought, state=_state(message))
        turns.append(replace(said, answer_id=message.id))
    return tuple(turns)


def _asked(message: MessageRecord) -> Exchange:
    found = stored_recollection(message.recalled)
    return Exchange(0, message.text, state="stopped", user_id=message.id, turn=message.turn, recalled=found)


def _state(message: MessageRecord) -> State:
    # Its writer is gone, or it is another process's: from here it looks the same.
    return "partial" if message.status == "streaming" else message.status


def _session(record: SessionRecord) -> StoredSession:
    return StoredSession(record.id, record.title, record.model, record.updated_at, record.n_messages)


def _row(turn: TurnRecord) -> TurnRow:
    return TurnRow(
        turn.turn,
        turn.reused,
        turn.prefilled_early,
        turn.prefilled,
        turn.decoded,
        turn.ttft_s,
        turn.tpot_s,
        turn.kv_tokens,
        recalled=turn.recalled,
    )
