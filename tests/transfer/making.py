"""Random stores with everything a session can hold, odd strings included."""

from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import strategies as st

from chatkv.store import Store, TurnRecord

HALVES = "\ud83d" + "\ude00"  # two halves; written as one literal they stay two as well
ODD = [
    "",
    " trailing \n\n",
    "\r\nCR\rLF\r\n",
    "\0nul\x1b[31m",
    f"{HALVES} and {HALVES}",
    "\ude00\ud83d",
    "<!-- chatkv user -->\n## You\n\n",
    "\\<!-- chatkv end -->",
    "\\\\<!-- chatkv conversation 1 -->",
    "&#13;&amp;#10;&amp;&lt;",
    "\r&#13;&amp;#10;&amp;&lt;",
    "```\nopen fence\n# heading\n<!-- open comment",
    "\ufeffmark\u2028line\x85next",
    "<!-- chatkv assistant escaped -->",
]
TEXT = st.one_of(st.sampled_from(ODD), st.text(st.characters(codec=None, categories=None), max_size=30))
"""Every Python string, and those that are known to be hard."""


class Ticking:
    """A clock that moves a second a look."""

    def __init__(self) -> None:
        self._times = itertools.count(1_700_000_000)

    def __call__(self) -> float:
        return next(self._times) + 0.125


def filled(data: st.DataObject, file: Path, n_sessions: int = 2) -> Store:
    """A store at `file` with up to `n_sessions` sessions drawn from `data`."""
    store = Store.open(file, clock=Ticking())
    ids: list[str] = []
    for _ in range(data.draw(st.integers(1, n_sessions))):
        origin = data.draw(st.sampled_from([None, *ids]))
        system = data.draw(st.one_of(st.none(), TEXT))
        record = store.create_session(data.draw(TEXT), data.draw(TEXT), system, origin)
        ids.append(record.id)
    for _ in range(data.draw(st.integers(0, 8))):
        _do_something(data, store, data.draw(st.sampled_from(ids)))
    return store


def _do_something(data: st.DataObject, store: Store, session_id: str) -> None:
    rows = store.whole(session_id).messages
    act = data.draw(st.sampled_from(["say", "say", "say", "pin", "sum", "keep", "event", "turn", "recall"]))
    if act == "say" or not rows:
        _exchange(data, store, session_id)
        return
    row = data.draw(st.sampled_from(rows))
    if act == "pin":
        store.pin(session_id, row["id"])
    elif act == "sum":
        kept = [other["id"] for other in rows if data.draw(st.booleans())]
        summary = store.add_summary(
            session_id, row["id"], data.draw(TEXT), origin="model", edited=data.draw(TEXT), kept=kept
        )
        if data.draw(st.booleans()):
            store.undo_summary(summary.id)
    elif act == "keep":
        store.add_document(
            session_id, data.draw(TEXT), data.draw(TEXT), data.draw(st.lists(TEXT, max_size=3))
        )
    elif act == "event":
        value = data.draw(
            st.dictionaries(TEXT, st.one_of(TEXT, st.floats(allow_nan=False), st.none()), max_size=3)
        )
        store.add_event(session_id, data.draw(TEXT), {"a": [value], "pieces": ["x"]})
    elif act == "turn":
        n = data.draw(st.integers(0, 2**62))
        seconds = data.draw(st.one_of(st.none(), st.floats(0, 1e9)))
        store.add_turn(
            TurnRecord(
                session_id,
                1,
                row["id"],
                row["id"],
                "stop",
                n,
                1,
                2,
                3,
                4,
                seconds,
                None,
                0.1,
                5,
                6,
                7,
                8,
                "m",
                9.5,
            )
        )
    else:
        store.set_recalled(row["id"], data.draw(TEXT))


def _exchange(data: st.DataObject, store: Store, session_id: str) -> None:
    rows = store.whole(session_id).messages
    answers = [row["id"] for row in rows if row["role"] == "assistant"]
    parent = data.draw(st.sampled_from([None, *answers]))
    _, answer = store.add_exchange(session_id, parent, data.draw(TEXT), len(rows) + 1, "m")
    ids = data.draw(st.lists(st.integers(0, 2**32 - 1), max_size=4))
    store.update_answer(
        answer.id,
        text=data.draw(TEXT),
        thought=data.draw(TEXT),
        ids=ids,
        answer_start=data.draw(st.integers(0, len(ids))),
        status=data.draw(st.sampled_from(["complete", "stopped", "streaming", "error"])),
    )
