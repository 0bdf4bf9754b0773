"""Our own JSON, checked row by row before any of it is stored: a file is from elsewhere, whatever it says.

Knows nothing of SQL. What passes here breaks no rule of the tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from chatkv.store import Whole
from chatkv.transfer.columns import SESSION, TABLES, Column
from chatkv.transfer.envelope import DATA_TEXT, FORMAT, PIECES, VERSION
from chatkv.transfer.findings import Findings, kind_of, short

Row = dict[str, Any]


def envelope_wholes(data: Any, findings: Findings) -> Iterator[tuple[str, Whole]]:
    """The sessions of an export with their places; one with a fault is left out as a whole."""
    envelope = findings.an_object(data, "")
    if envelope is None:
        return
    if envelope.get("format") != FORMAT:
        findings.fault("format", f"expected “{FORMAT}”, found {short(envelope.get('format'))}.")
        return
    if envelope.get("version") != VERSION:
        told = short(envelope.get("version"))
        findings.fault("version", f"this chatkv reads version {VERSION}, found {told}. Update chatkv.")
        return
    for n, item in enumerate(findings.a_list(envelope.get("sessions"), "sessions") or []):
        place = f"sessions[{n}]"
        n_faults = len(findings.faults)
        whole = _whole(item, place, findings)
        if whole is not None and len(findings.faults) == n_faults:
            _check_links(whole, place, lambda where, problem: findings.fault(where, problem))
        if whole is not None and len(findings.faults) == n_faults:
            yield place, whole


def _whole(item: Any, place: str, findings: Findings) -> Whole | None:
    found = findings.an_object(item, place)
    if found is None:
        return None
    for name in found.keys() - {"session", *TABLES}:
        findings.fault(f"{place}.{short(name)}", "unknown table: was this written by a newer chatkv?")
    session = _row(found.get("session"), SESSION, f"{place}.session", findings)
    tables: dict[str, list[Row]] = {}
    for table, columns in TABLES.items():
        where = f"{place}.{table}"
        rows = findings.a_list(found.get(table), where) or []
        read = (_row(row, columns, f"{where}[{n}]", findings) for n, row in enumerate(rows))
        tables[table] = [row for row in read if row is not None]
    if session is None:
        return None
    for rows in tables.values():
        for row in rows:
            row["session_id"] = session["id"]
    return Whole(session, **tables)


def _row(value: Any, columns: Mapping[str, Column], place: str, findings: Findings) -> Row | None:
    found = findings.an_object(value, place)
    if found is None:
        return None
    row = {name: item if name == "data" else _joined(item) for name, item in found.items()}
    if "data" in columns and DATA_TEXT in row:
        row["data"] = _parsed(row.pop(DATA_TEXT))
    n_faults = len(findings.faults)
    for name in row.keys() - columns.keys():
        findings.fault(f"{place}.{short(name)}", "unknown column: was this written by a newer chatkv?")
    for name, (check, wanted) in columns.items():
        if name not in row:
            findings.fault(f"{place}.{name}", "it is missing.")
        elif not check(row[name]):
            findings.fault(f"{place}.{name}", f"expected {wanted}, found {_shown(row[name])}.")
    if len(findings.faults) > n_faults:
        return None
    if "ids" in row:
        row["ids"] = tuple(row["ids"])
    return row


def _joined(value: Any) -> Any:
    """Text that went in pieces, or any other value as it is."""
    if isinstance(value, dict) and value.keys() == {PIECES}:
        pieces = value[PIECES]
        if isinstance(pieces, list) and all(isinstance(piece, str) for piece in pieces):
            return "".join(pieces)
    return value


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return text


def _shown(value: Any) -> str:
    return f"{kind_of(value)} ({short(value)})" if isinstance(value, str | int | float) else kind_of(value)


def _check_links(whole: Whole, place: str, fault: Callable[[str, str], None]) -> None:
    """Whether what rows refer to is there, and each id stands once."""
    for table in (name for name, columns in TABLES.items() if "id" in columns):
        _check_unique([row["id"] for row in getattr(whole, table)], f"{place}.{table}", fault)
    _check_unique([pin["message_id"] for pin in whole.pins], f"{place}.pins", fault)
    messages = {row["id"] for row in whole.messages}
    documents = {row["id"] for row in whole.documents}
    for n, row in enumerate(whole.messages):
        where = f"{place}.messages[{n}]"
        if row["parent_id"] is not None and row["parent_id"] not in messages:
            fault(f"{where}.parent_id", f"there is no message {row['parent_id']}.")
        elif row["parent_id"] is not None and row["parent_id"] >= row["id"]:
            fault(f"{where}.parent_id", "a message must have a greater id than the one it follows.")
        if not 0 <= row["answer_start"] <= len(row["ids"]):
            fault(f"{where}.answer_start", "it lies outside of the token ids.")
    if whole.session["leaf_id"] is not None and whole.session["leaf_id"] not in messages:
        fault(f"{place}.session.leaf_id", f"there is no message {whole.session['leaf_id']}.")
    links = [
        ("summaries", "upto_id", messages),
        ("pins", "message_id", messages),
        ("passages", "document_id", documents),
    ]
    for table, name, known in links:
        for n, row in enumerate(getattr(whole, table)):
            if row[name] not in known:
                fault(f"{place}.{table}[{n}].{name}", f"there is no {name.removesuffix('_id')} {row[name]}.")


def _check_unique(ids: list[int], place: str, fault: Callable[[str, str], None]) -> None:
    seen: set[int] = set()
    for n, row_id in enumerate(ids):
        if row_id in seen:
            fault(f"{place}[{n}].id", f"{row_id} stands there twice.")
        seen.add(row_id)
