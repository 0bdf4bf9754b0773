"""Everything chatkv remembers, in one SQLite file. The only room that knows SQLite."""

from chatkv.store.owners import this_process
from chatkv.store.rates import Verdict
from chatkv.store.records import (
    BlockRecord,
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
from chatkv.store.steady import SteadyStore
from chatkv.store.store import Store
from chatkv.store.whole import Placed, Whole

__all__ = [
    "BlockRecord",
    "DocumentRecord",
    "EventRecord",
    "Finish",
    "MessageRecord",
    "PassageRecord",
    "Placed",
    "Role",
    "SearchHit",
    "SessionRecord",
    "Status",
    "SteadyStore",
    "Store",
    "SummaryRecord",
    "TurnRecord",
    "Verdict",
    "Whole",
    "this_process",
]
