"""Which conversation is which: ids for those that come without one of ours, and whether two are the same.

Message ids do not count: they are numbered anew where they are taken.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from chatkv.store import Whole
from chatkv.store.values import ID_ALPHABET, ID_LENGTH

Row = dict[str, Any]

_BITS = 5 * ID_LENGTH
_TIME_BITS = 42
_LONGEST_ID = 64


def session_id_of(identity: str, created_at: float | None) -> str:
    """The id of a conversation from elsewhere: always the same, and in order of time where that is known."""
    number = int.from_bytes(hashlib.blake2b(_raw(identity), digest_size=8).digest()) % (1 << _BITS)
    if created_at is not None:
        rest = _BITS - _TIME_BITS
        number = (int(created_at * 1000) % (1 << _TIME_BITS)) << rest | number % (1 << rest)
    return "".join(ID_ALPHABET[number >> shift & 31] for shift in range(_BITS - 5, -1, -5))


def is_session_id(text: object) -> bool:
    """Whether `text` can be the id of a session."""
    return isinstance(text, str) and 0 < len(text) <= _LONGEST_ID and set(text) <= set(ID_ALPHABET)


def content_of(session: Row, messages: Sequence[Row]) -> str:
    """All that was said in a session, as one text."""
    return json.dumps([session["system"], *_said(messages)])


def same_words(came: Whole, here: Whole) -> bool:
    """Whether the same was said in both, on all branches or on the one in use `here`."""
    said = content_of(came.session, came.messages)
    return said in (content_of(here.session, rows) for rows in (here.messages, branch_in_use(here)))


def branch_in_use(whole: Whole) -> list[Row]:
    """The messages of the branch that the session stands at, from its beginning."""
    rows = {row["id"]: row for row in whole.messages}
    path: list[Row] = []
    at = rows.get(whole.session["leaf_id"])
    while at is not None:
        path.append(at)
        at = rows.get(at["parent_id"])
    return path[::-1]


def same_session(one: Whole, other: Whole) -> bool:
    """Whether both hold the same in every table."""
    return _canonical(one) == _canonical(other)


def _said(messages: Sequence[Row]) -> list[list[Any]]:
    ranks = _ranks(messages)
    return [
        [ranks.get(row["parent_id"]), row["role"], row["text"], row["thought"]] for row in _in_order(messages)
    ]


def _canonical(whole: Whole) -> dict[str, Any]:
    """Every table, ids replaced by their order. Where a session came from is not compared: that link may be gone."""
    messages, documents = _ranks(whole.messages), _ranks(whole.documents)
    session = {
        **whole.session,
        "leaf_id": messages.get(whole.session["leaf_id"]),
        "id": "",
        "carried_from": None,
    }

    def seen(rows: Sequence[Row], **references: dict[int, int]) -> list[Row]:
        ranks = _ranks(rows)
        return [
            {**row, "id": ranks[row["id"]], "session_id": ""}
            | {name: known.get(row[name], 0) for name, known in references.items()}
            for row in _in_order(rows)
        ]

    pins = [{**pin, "session_id": "", "message_id": messages.get(pin["message_id"], 0)} for pin in whole.pins]
    summaries = seen(whole.summaries, upto_id=messages)
    for row in summaries:
        row["kept"] = [messages[kept] for kept in row["kept"] if kept in messages]
    return {
        "session": session,
        "messages": seen(whole.messages, parent_id=messages),
        "turns": seen(whole.turns, user_id=messages, message_id=messages),
        "events": [{**row, "data": json.dumps(row["data"], sort_keys=True)} for row in seen(whole.events)],
        "summaries": summaries,
        "pins": sorted(pins, key=lambda pin: int(pin["message_id"])),
        "documents": seen(whole.documents),
        "passages": seen(whole.passages, document_id=documents),
    }


def _ranks(rows: Sequence[Row]) -> dict[int, int]:
    return {row["id"]: rank for rank, row in enumerate(_in_order(rows), start=1)}


def _in_order(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: int(row["id"]))


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
