"""A store that keeps sessions in memory while their file cannot be written, and saves them when it can again.

Knows nothing of conversations: what it does when is decided by failures and by the clock alone.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from chatkv.errors import ChatkvError, StoreError, UsageError
from chatkv.store import owners, refuge
from chatkv.store.known import Known
from chatkv.store.records import SessionRecord
from chatkv.store.store import Store
from chatkv.store.values import new_session_id
from chatkv.store.whole import Placed, Whole

RETRY_S = 2.0
"""Seconds between two tries to come back to the file; longer where a try takes long."""
_SHARE = 10
_PATIENCE_MS = 2000
_IMPATIENCE_MS = 100

Method = TypeVar("Method", bound=Callable[..., Any])


def _steady(method: Method) -> Method:
    """`method`, carried out in memory where the file fails."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(self: SteadyStore, *args: Any, **kwargs: Any) -> Any:
        def act() -> Any:
            result = method(self, *args, **kwargs)
            self.known.learn(method.__name__, signature.bind(self, *args, **kwargs).arguments, result)
            return result

        return self.carry_out(act)

    return cast(Method, call)


class SteadyStore(Store):
    """A `Store` for the sessions that one process has open: no failure of the file reaches who talks in them.

    `trouble` says why they are in memory, and is empty while they are in the file. Sessions that are not open are
    read as in any store, and what is asked wrongly is the same `UsageError`. While there is trouble, a change tries
    the file again every few seconds, and `retry` does so in idle time.
    """

    def __init__(self, file: Path, connection: sqlite3.Connection, clock: Callable[[], float]) -> None:
        super().__init__(file, connection, clock)
        self.trouble = ""
        self.rescued: Path | None = None
        """Where the sessions went that could not be saved to the file in the end."""
        self.known = Known()
        self._closed = False
        self._arrive()

    # ── every method that concerns an open session ───────────────────────────────────────────────────────

    create_session = _steady(Store.create_session)
    session = _steady(Store.session)
    rename = _steady(Store.rename)
    set_model = _steady(Store.set_model)
    try_claim = _steady(Store.try_claim)
    release = _steady(Store.release)
    add_message = _steady(Store.add_message)
    add_exchange = _steady(Store.add_exchange)
    update_answer = _steady(Store.update_answer)
    set_leaf = _steady(Store.set_leaf)
    recover = _steady(Store.recover)
    message = _steady(Store.message)
    path = _steady(Store.path)
    siblings = _steady(Store.siblings)
    children = _steady(Store.children)
    alternatives = _steady(Store.alternatives)
    newest_leaf = _steady(Store.newest_leaf)
    add_turn = _steady(Store.add_turn)
    turns = _steady(Store.turns)
    add_event = _steady(Store.add_event)
    events = _steady(Store.events)
    add_summary = _steady(Store.add_summary)
    summaries = _steady(Store.summaries)
    undo_summary = _steady(Store.undo_summary)
    pin = _steady(Store.pin)
    unpin = _steady(Store.unpin)
    pins = _steady(Store.pins)
    add_document = _steady(Store.add_document)
    documents = _steady(Store.documents)
    passages = _steady(Store.passages)
    set_recalled = _steady(Store.set_recalled)

    # ── what is otherwise while there is trouble ─────────────────────────────────────────────────────────

    def resolve(self, wanted: str) -> SessionRecord:
        """As in `Store`. A session that is only in the file is read from there and goes on in memory.

        Raises `StoreError` if the file cannot be read, or another process has the session open.
        """
        if not self.trouble:
            record = super().resolve(wanted)
            self.known.learn("session", {}, record)
            return record
        with contextlib.suppress(UsageError):
            return super().resolve(wanted)
        with Store.open(self.file, read_only=True, clock=self.clock) as disk:
            record = disk.resolve(wanted)
            holder = disk.holder(record.id)
            if holder not in (None, owners.this_process()):
                raise StoreError(f"Session {record.id} is open in another process, and {self.trouble}")
            self._shelter(disk.whole(record.id), sure=True)
        return self.session(record.id)

    def put_block(
        self, name: str, parent: str, fingerprint: str, ids: Sequence[int], payload: bytes, session_id: str
    ) -> bool:
        """As in `Store`; while there is trouble nothing is kept: a block can be computed again."""
        if self.trouble:
            return False
        return super().put_block(name, parent, fingerprint, ids, payload, session_id)

    def stray_files(self) -> list[Path]:
        """As in `Store`; while there is trouble no file is known to be stray."""
        return [] if self.trouble else super().stray_files()

    def close(self) -> None:
        """Save what is in memory, to the file or (`rescued`) to another one, and close.

        Raises `StoreError` if there is no place for it.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self.retry()
            if self.trouble:
                self.rescued = refuge.rescue(self._connection, self.file)
        finally:
            self.trouble = ""
            super().close()
            self._place.forget()

    # ── away and back ────────────────────────────────────────────────────────────────────────────────────

    def carry_out(self, act: Callable[[], Any]) -> Any:
        """Do `act` on the file, or in memory where that fails."""
        if self.trouble:
            if not self._waits_for_rest and self.retry_in_s() == 0:
                self._try(may_move=False)
            return act()
        if gone := self._place.trouble():
            self._take_refuge(gone)
            return act()
        try:
            result = act()
        except StoreError as error:
            if not refuge.is_failure(error):
                raise
            self._take_refuge(error.message, damaged=refuge.is_damage(error))
            return act()
        if gone := self._place.trouble():  # SQLite wrote to the file that is gone, and it can still be read
            self._take_refuge(gone)
        return result

    def retry_in_s(self) -> float | None:
        """Seconds until a new try makes sense; None without trouble."""
        return max(0.0, self._next_try - time.monotonic()) if self.trouble else None

    def retry(self) -> dict[str, Placed]:
        """Come back to the file if it can be written; by old session id, where sessions went whose ids changed.

        Not while something refers to message ids that no one could tell it of: between turns only.
        """
        return self._try(may_move=True)

    def _arrive(self) -> None:
        self._place = refuge.Place(self.file)
        self._damaged = self._waits_for_rest = False
        self._rebuilt: set[str] = set()
        self._targets: dict[str, str] = {}
        self._next_try = 0.0
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")

    def _take_refuge(self, reason: str, *, damaged: bool = False) -> None:
        """Go on in memory, with the open sessions as the file has them, else as they are known."""
        self._damaged = damaged or self._place.is_overwritten()
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute(f"PRAGMA busy_timeout = {_IMPATIENCE_MS}")
        found = [self._last_state(session_id) for session_id in self.known.sessions]
        holders = {
            whole.session["id"]: self._holder_on_file(whole.session["id"]) for whole, _ in found if whole
        }
        ids = self.known.last_ids()
        for table, last in refuge.last_ids(self._connection).items():
            ids[table] = max(last, ids.get(table, 0))
        old, self._connection = self._connection, refuge.memory_database(ids)
        self.trouble = reason
        for whole, sure in found:
            if whole is not None:
                self._shelter(whole, sure=sure, holder=holders[whole.session["id"]])
        self._place.leave(old)
        self._next_try = time.monotonic() + RETRY_S

    def _last_state(self, session_id: str) -> tuple[Whole | None, bool]:
        with contextlib.suppress(ChatkvError):
            whole = self.whole(session_id)
            if self.known.agrees(whole):
                return whole, True
        return self.known.whole(session_id), False

    def _holder_on_file(self, session_id: str) -> str | None:
        with contextlib.suppress(StoreError):
            return self.holder(session_id)
        return None

    def _shelter(self, whole: Whole, *, sure: bool, holder: str | None = None) -> None:
        session_id = whole.session["id"]
        self.put_whole(whole, replace=True)
        with self._writing("keep a session in memory") as connection:
            origin = whole.session["carried_from"]
            connection.execute("UPDATE sessions SET carried_from = ? WHERE id = ?", (origin, session_id))
        if holder is not None:
            Store.try_claim(self, session_id, holder)
        if not sure:
            self._rebuilt.add(session_id)

    def _try(self, *, may_move: bool) -> dict[str, Placed]:
        if not self.trouble:
            if not (gone := self._place.trouble()):
                return {}
            self._take_refuge(gone)
        started = time.monotonic()
        fresh: Store | None = None
        moved: dict[str, Placed] | None = None
        with contextlib.suppress(ChatkvError):
            if refuge.is_free(self.file):
                fresh = Store.open(self.file, clock=self.clock)
                moved = self._saved_to(fresh, may_move=may_move)
        if fresh is None or moved is None or (moved and not may_move):
            self._waits_for_rest = bool(moved)
            if fresh is not None:
                fresh.close()
            now = time.monotonic()
            self._next_try = now + max(RETRY_S, _SHARE * (now - started))
            return {}
        self._connection.close()
        self._connection, self.trouble = fresh._connection, ""
        self._arrive()
        return moved

    def _saved_to(self, fresh: Store, *, may_move: bool) -> dict[str, Placed] | None:
        """Save all sessions; those whose ids changed. None if that may not be, or the file is not sound."""
        if self._damaged and not refuge.is_sound(fresh._connection):
            return None
        moved: dict[str, Placed] = {}
        for session in sorted(self.list_sessions(limit=-1), key=lambda session: session.id):  # origins first
            ours, holder = self.whole(session.id), self.holder(session.id)
            if holder not in (None, owners.this_process()):
                continue  # only read here
            if session.id not in self._targets and self._stands_apart(fresh, ours):
                if not may_move:
                    return None
                self._targets[session.id] = new_session_id(self.clock())
            target = self._targets.get(session.id, session.id)
            placed = fresh.put_whole(refuge.under(target, ours), replace=True)
            if holder is not None:
                fresh.claim(target, holder)
            same = [s.id for s in Store.summaries(self, session.id)] == [
                s.id for s in fresh.summaries(target)
            ]
            if placed.renumbered or target != session.id or not same:
                moved[session.id] = placed
        return moved

    def _stands_apart(self, fresh: Store, ours: Whole) -> bool:
        """Whether the file has something of this session that saving ours in its place would lose."""
        session_id = ours.session["id"]
        try:
            theirs = fresh.whole(session_id)
        except UsageError:
            return False
        if session_id in self._rebuilt or fresh.holder(session_id) not in (None, owners.this_process()):
            return True
        here = {(row["role"], row["created_at"]) for row in ours.messages}
        return any((row["role"], row["created_at"]) not in here for row in theirs.messages)
