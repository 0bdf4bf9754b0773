"""What becomes of conversations that were read: taken in, passed over since they are here, refused, or copied.

All is decided before anything is written. Knows no file format.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from chatkv.errors import StoreError, UsageError
from chatkv.store import Store, Whole
from chatkv.store.values import new_session_id
from chatkv.transfer.columns import TABLES
from chatkv.transfer.findings import Fault, Note
from chatkv.transfer.identity import same_session, same_words
from chatkv.transfer.reading import Format, Found, read_file

Outcome = Literal["new", "copy", "unchanged", "twice"]
_BATCH_ROWS = 500


@dataclass(frozen=True, slots=True)
class Arrival:
    """One conversation and what becomes of it. `unchanged`: it is here already; `twice`: it was read before."""

    file: str
    place: str
    session_id: str
    title: str
    n_messages: int
    outcome: Outcome


@dataclass(slots=True)
class Plan:
    """An import before it happens."""

    arrivals: list[Arrival] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    wholes: list[Whole] = field(default_factory=list)
    """What is to be stored; a session stands behind the one it goes on from."""


def plan_import(
    files: Sequence[Path],
    store: Store | None,
    now: float,
    *,
    wanted: Format | None = None,
    copy: bool = False,
) -> Plan:
    """Read `files` and decide what to store. Nothing is written. `store` None: there is no database yet.

    `copy`: a session that is here and differs is stored beside it under a new id, instead of being refused.
    """
    plan = Plan()
    placing = _Placing(plan, store, now, copy)
    for file in files:
        try:
            found, findings = read_file(file, wanted, now)
        except (UsageError, StoreError) as error:
            plan.faults.append(Fault("", "", str(error)))
            continue
        for one in found:
            placing.place(one)
        plan.faults += findings.faults
        plan.notes += findings.notes
    plan.wholes = list(_origins_first(placing.linked()))
    return plan


def write_plan(plan: Plan, store: Store, *, at_once: bool = False) -> None:
    """Store what the plan says, in transactions short enough for a chat in another process; or `at_once`, in one.

    Raises `StoreError` that says how many conversations had been stored.
    """
    n_done = 0
    for batch in [plan.wholes] if at_once else _batches(plan.wholes):
        try:
            store.put_wholes(batch)
        except StoreError as error:
            n_all = len(plan.wholes)
            raise StoreError(
                f"{error.message} {n_done} of {n_all} conversations were imported.", error.hint
            ) from error
        n_done += len(batch)


class _Placing:
    """Decides about one conversation after another."""

    def __init__(self, plan: Plan, store: Store | None, now: float, copy: bool) -> None:
        self._plan = plan
        self._store = store
        self._now = now
        self._copy = copy
        self._taken: dict[str, Whole] = {}
        self._copies: dict[str, str] = {}

    def place(self, found: Found) -> None:
        """Take a conversation into the plan, or say why not."""
        whole, session_id = found.whole, found.whole.session["id"]
        before, here = self._taken.get(session_id), self._here(session_id)
        is_same = same_session if found.lossless else same_words
        if before is not None and is_same(whole, before):
            self._note(found, whole, "twice")
        elif here is not None and is_same(whole, here):
            self._note(found, whole, "unchanged")
        elif (before or here) is None:
            self._take(found, whole, "new")
        elif self._copy:
            copied = self._copied(whole)
            self._copies.setdefault(session_id, copied.session["id"])
            self._take(found, copied, "copy")
        else:
            where = "in these files before" if before is not None else "here"
            problem = (
                f"session {session_id} is {where} with other content; --copy imports it beside that one."
            )
            self._plan.faults.append(Fault(found.file, found.place, problem))

    def linked(self) -> Iterator[Whole]:
        """What was taken; a copy goes on from a copy, where there is one."""
        copies = set(self._copies.values())
        for session_id, whole in self._taken.items():
            origin = whole.session["carried_from"]
            if session_id in copies and origin in self._copies:
                session = {**whole.session, "carried_from": self._copies[origin]}
                whole = dataclasses.replace(whole, session=session)
            yield whole

    def _here(self, session_id: str) -> Whole | None:
        if self._store is None:
            return None
        try:
            return self._store.whole(session_id)
        except UsageError:
            return None

    def _take(self, found: Found, whole: Whole, outcome: Outcome) -> None:
        self._taken[whole.session["id"]] = whole
        self._note(found, whole, outcome)

    def _note(self, found: Found, whole: Whole, outcome: Outcome) -> None:
        session = whole.session
        self._plan.arrivals.append(
            Arrival(found.file, found.place, session["id"], session["title"], len(whole.messages), outcome)
        )

    def _copied(self, whole: Whole) -> Whole:
        session_id = new_session_id(self._now)
        while session_id in self._taken or self._here(session_id) is not None:
            session_id = new_session_id(self._now)
        rows = {
            table: [{**row, "session_id": session_id} for row in getattr(whole, table)] for table in TABLES
        }
        return Whole({**whole.session, "id": session_id}, **rows)


def _origins_first(wholes: Iterable[Whole]) -> Iterator[Whole]:
    """Each session behind the one that it goes on from, as far as that is possible."""
    waiting = {whole.session["id"]: whole for whole in wholes}
    while waiting:
        chain = [next(iter(waiting))]
        while (origin := waiting[chain[-1]].session["carried_from"]) in waiting and origin not in chain:
            chain.append(origin)
        for session_id in reversed(chain):
            yield waiting.pop(session_id)


def _batches(wholes: Iterable[Whole]) -> Iterator[list[Whole]]:
    batch: list[Whole] = []
    n_rows = 0
    for whole in wholes:
        batch.append(whole)
        n_rows += 1 + sum(len(getattr(whole, table)) for table in TABLES)
        if n_rows >= _BATCH_ROWS:
            yield batch
            batch, n_rows = [], 0
    if batch:
        yield batch
