"""Everything chatkv remembers, in one SQLite file. The only room that knows SQLite."""

from chatkv.store.owners import this_process
from chatkv.store.records import (
    DocumentRecord,
    EventRecord,
    Finish,
    MessageRecord,
    PassageRecord,
    Role,
    SearchHit,
    SessionRecord,
    Status,
    SummaryRecord,
    TurnRecord,
)
from chatkv.store.store import Store

__all__ = [
    "DocumentRecord",
    "EventRecord",
    "Finish",
    "MessageRecord",
    "PassageRecord",
    "Role",
    "SearchHit",
    "SessionRecord",
    "Status",
    "Store",
    "SummaryRecord",
    "TurnRecord",
    "this_process",
]
