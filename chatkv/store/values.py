"""Python values to SQLite values and back, exactly. Knows nothing of tables.

SQLite's TEXT cannot hold every Python string: a lone surrogate has no UTF-8 form, and tools cut a text at its
first NUL. Such a string is kept as a BLOB (UTF-8 with surrogates passed through); every other one stays TEXT,
so that the database reads well in any SQLite tool.
"""

from __future__ import annotations

import secrets
import sqlite3
import struct
from typing import Any

ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base32 digits: in ASCII order, so ids sort as their numbers do, and none that look alike."""
ID_LENGTH = 12
_RANDOM_BITS = 18


def encode(value: Any) -> Any:
    """`value` as SQLite takes it: strings exact, token ids as little-endian uint32."""
    if isinstance(value, tuple):
        return struct.pack(f"<{len(value)}I", *value)
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogatepass")
        return raw if "\0" in value or not _is_utf8(value) else value
    return value


def decode_row(row: sqlite3.Row) -> dict[str, Any]:
    """Column names and Python values of `row`. The column `ids` holds token ids, any other BLOB a string."""
    return {name: _decode(name, row[name]) for name in row.keys()}  # noqa: SIM118


def decode(raw: bytes) -> str:
    """The string that `encode` made a BLOB of."""
    return raw.decode("utf-8", "surrogatepass")


def new_session_id(now: float) -> str:
    """42 bits of milliseconds since the epoch, then 18 random bits, as twelve base32 digits."""
    number = (int(now * 1000) % (1 << 42)) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return "".join(ID_ALPHABET[number >> shift & 31] for shift in range(5 * (ID_LENGTH - 1), -1, -5))


def _decode(name: str, value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    if name == "ids":
        return struct.unpack(f"<{len(value) // 4}I", value)
    return decode(value)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
