"""What is done while nothing is asked: first what is owed to the conversation, then what its next message may recall,
then what is being written, then the search.

Says what it works on when that changes. Does a moment of it at a time and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from chatkv.errors import StoreError
from chatkv.protocol import Event, Idle, Idling
from chatkv.session.session import Session
from chatkv.store import SteadyStore

_INDEXED_FROM = 200
"""Messages that may wait to be indexed: a search looks through so few by itself."""
_INDEXED_AT_ONCE = 50


class SpareTime:
    """The idle time of one process, for whichever session is open."""

    def __init__(self, store: SteadyStore) -> None:
        self._store = store
        self._may_index = True
        self._doing: Idling = ""

    def has_work(self, session: Session) -> bool:
        """Whether `step` would do something."""
        mine = session.upkeep.has_work or session.archive.has_to_read or session.drafting.has_work
        return mine or self._has_to_index()

    def wakes_in_s(self, session: Session | None) -> float | None:
        """Seconds until there is something to do although nothing is asked; None: there will not be."""
        times = [self._store.retry_in_s()]
        if session is not None:
            times += [session.upkeep.due_in_s(), session.drafting.due_in_s()]
        return min((seconds for seconds in times if seconds is not None), default=None)

    def step(self, session: Session) -> Iterator[Event]:
        """A moment of work that makes the next turn, or the next search, cheaper. Raises `ChatkvError`."""
        work: Idling
        if session.upkeep.has_work:
            yield from session.upkeep.step()
            work = session.upkeep.doing
        elif session.archive.has_to_read:
            session.archive.read_some()
            work = "indexing"
        elif session.drafting.has_work:
            yield from session.drafting.step()
            work = "drafting"
        else:
            self._index()
            work = "indexing"
        yield from self._turned_to(work if self.has_work(session) else "")

    def interrupted(self) -> Iterator[Event]:
        """Something was asked."""
        yield from self._turned_to("")

    def _turned_to(self, work: Idling) -> Iterator[Event]:
        if work != self._doing:
            self._doing = work
            yield Idle(work)

    def _index(self) -> None:
        self._may_index = False  # until it has worked
        self._store.index_some(_INDEXED_AT_ONCE)
        self._may_index = True

    def _has_to_index(self) -> bool:
        try:
            return self._may_index and not self._store.trouble and self._store.n_waiting() >= _INDEXED_FROM
        except StoreError:  # whatever it is, the next message will tell
            return False
