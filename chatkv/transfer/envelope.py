"""Sessions as JSON, nothing left out: one row a line, in an envelope that says its version.

Knows nothing of files. `envelope_in` reads it back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from chatkv.store import Whole
from chatkv.transfer.columns import SESSION, TABLES

FORMAT = "chatkv"
VERSION = 1
PIECES = "pieces"
DATA_TEXT = "data_text"

# JSON's `\ud83d\ude00` is one character; a Python string can hold it as two halves. Such a string goes in pieces.
_HALVES = re.compile("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])")
_ODD = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")


def envelope_of(wholes: Iterable[Whole]) -> Iterator[str]:
    """The pieces of the text of an export."""
    yield f'{{"format": {json.dumps(FORMAT)}, "version": {VERSION}, "sessions": ['
    for n, whole in enumerate(wholes):
        yield ",\n" if n else "\n"
        yield from _session(whole)
    yield "\n]}\n"


def _session(whole: Whole) -> Iterator[str]:
    yield f'{{"session": {_row(whole.session, SESSION)}'
    for table, columns in TABLES.items():
        yield f',\n"{table}": ['
        for n, row in enumerate(getattr(whole, table)):
            yield ",\n" if n else "\n"
            yield _row(row, columns)
        yield "]"
    yield "}"


def _row(row: dict[str, Any], columns: Iterable[str]) -> str:
    values = {name: _whole_text(row[name]) for name in columns}
    if "data" in values:
        text = json.dumps(values["data"], ensure_ascii=False)
        if _HALVES.search(text):
            values[DATA_TEXT] = _whole_text(text)
            del values["data"]
    dumped = json.dumps(values, ensure_ascii=False)
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", dumped)


def _whole_text(value: Any) -> Any:
    if isinstance(value, str) and _HALVES.search(value):
        return {PIECES: _HALVES.split(value)}
    return value
