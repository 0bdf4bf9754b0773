"""What each table of a session holds, column by column, so that a file can be checked before any of it is stored.

Says the same as the store's tables; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from chatkv.transfer.findings import Doubled, is_time
from chatkv.transfer.identity import is_session_id

_MAX_INT = (1 << 63) - 1
_MAX_TOKEN = (1 << 32) - 1
_STATUSES = {"streaming", "complete", "stopped", "length", "error", "partial"}
_DEEPEST = 60

Check = Callable[[Any], bool]


def is_int(value: Any) -> bool:
    """Whether `value` is an integer that SQLite can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and -_MAX_INT <= value <= _MAX_INT


def is_row_id(value: Any) -> bool:
    """Whether `value` can be the id of a row."""
    return is_int(value) and value > 0


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_real(value: Any) -> bool:
    return (isinstance(value, float) and not math.isnan(value)) or is_int(value)


def _is_tokens(value: Any) -> bool:
    return isinstance(value, list) and all(is_int(item) and 0 <= item <= _MAX_TOKEN for item in value)


def _is_ids(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_row_id, value))


def _is_shallow(value: Any) -> bool:
    """Whether JSON is nested so little that anything can read it, and says no key twice."""
    level, layer = 0, [value]
    while layer and level <= _DEEPEST:
        if any(isinstance(item, Doubled) for item in layer):
            return False
        inner = [list(item.values()) if isinstance(item, dict) else item for item in layer]
        layer = [child for item in inner if isinstance(item, list) for child in item]
        level += 1
    return not layer


_TEXT, _INT, _REAL, _TIME = (
    (_is_text, "text"),
    (is_int, "an integer"),
    (_is_real, "a number"),
    (is_time, "a time"),
)
_ID = (is_row_id, "an id above 0")
_MAYBE_REAL = (_or_none(_is_real), "a number or null")
_MAYBE_ID = (_or_none(is_row_id), "an id above 0 or null")
_MAYBE_SESSION = (_or_none(is_session_id), "a session id or null")
_FLAG = (lambda value: is_int(value) and value in (0, 1), "0 or 1")
_IDS = (_is_ids, "a list of ids")
_COUNTS = ("reused", "prefilled", "prefilled_early", "decoded", "recalled")
_KV = ("kv_used_bytes", "kv_reserved_bytes", "kv_budget_bytes", "kv_tokens")

Column = tuple[Check, str]

SESSION: dict[str, Column] = {
    "id": (is_session_id, "a session id"),
    "title": _TEXT,
    "model": _TEXT,
    "system": (_or_none(_is_text), "text or null"),
    "leaf_id": _MAYBE_ID,
    "created_at": _TIME,
    "updated_at": _TIME,
    "carried_from": _MAYBE_SESSION,
    "spec": _TEXT,
}
"""Column → (check, what it must be)."""

TABLES: dict[str, dict[str, Column]] = {
    "messages": {
        "id": _ID,
        "parent_id": _MAYBE_ID,
        "role": (lambda value: value in ("user", "assistant"), "“user” or “assistant”"),
        "text": _TEXT,
        "thought": _TEXT,
        "ids": (_is_tokens, "a list of token ids"),
        "answer_start": _INT,
        "status": (lambda value: isinstance(value, str) and value in _STATUSES, "a status"),
        "turn": _INT,
        "model": _TEXT,
        "created_at": _TIME,
        "recalled": _TEXT,
    },
    "turns": {
        "id": _ID,
        "turn": _INT,
        "user_id": _INT,
        "message_id": _INT,
        "finish": _TEXT,
        **dict.fromkeys(_COUNTS, _INT),
        "ttft_s": _MAYBE_REAL,
        "tpot_s": _MAYBE_REAL,
        "total_s": _REAL,
        **dict.fromkeys(_KV, _INT),
        "model": _TEXT,
        "created_at": _TIME,
    },
    "events": {
        "id": _ID,
        "kind": _TEXT,
        "data": (_is_shallow, f"JSON nested at most {_DEEPEST} deep, no key twice"),
        "created_at": _TIME,
    },
    "summaries": {
        "id": _ID,
        "upto_id": _ID,
        "kept": _IDS,
        "text": _TEXT,
        "origin": _TEXT,
        "edited": _TEXT,
        "undone": _FLAG,
        "created_at": _TIME,
    },
    "pins": {"message_id": _ID, "created_at": _TIME},
    "documents": {"id": _ID, "name": _TEXT, "text": _TEXT, "created_at": _TIME},
    "passages": {"id": _ID, "document_id": _ID, "text": _TEXT},
}
"""The session's other tables in the same way. Each row's session is the one that it is listed under."""
