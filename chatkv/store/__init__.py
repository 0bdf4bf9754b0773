"""Everything chatkv remembers, in one SQLite file. The only room that knows SQLite."""

from chatkv.store.owners import this_process
from chatkv.store.records import (
    EventRecord,
    Finish,
    MessageRecord,
    Role,
    SearchHit,
    SessionRecord,
    Status,
    TurnRecord,
)
from chatkv.store.store import Store

__all__ = [
    "EventRecord",
    "Finish",
    "MessageRecord",
    "Role",
    "SearchHit",
    "SessionRecord",
    "Status",
    "Store",
    "TurnRecord",
    "this_process",
]
