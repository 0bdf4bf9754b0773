"""One file → the conversations in it, whatever program wrote it. Says what could not be read, and where.

Knows nothing of what is stored already.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from chatkv.errors import UsageError
from chatkv.store import Whole
from chatkv.store.llm_logs import is_sqlite
from chatkv.transfer.chatgpt import chatgpt_drafts
from chatkv.transfer.draft import Draft, built
from chatkv.transfer.envelope_in import envelope_wholes
from chatkv.transfer.files import beginning_of, is_zip, text_of, zipped_conversations
from chatkv.transfer.findings import Doubled, Findings
from chatkv.transfer.llm import llm_drafts
from chatkv.transfer.markdown_in import looks_like_ours, markdown_drafts
from chatkv.transfer.sharegpt import is_message, is_record, sharegpt_drafts

Format = Literal["chatkv", "markdown", "chatgpt", "llm", "sharegpt"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""What can be imported."""

_KNOWN = (
    "chatkv's own JSON and Markdown, ChatGPT's conversations.json or its zip, llm's logs.db, ShareGPT JSON"
)
_LOOKED_AT = 100
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Found:
    """A conversation in a file. `lossless`: it is one of ours with all of its tables and ids."""

    file: str
    place: str
    whole: Whole
    lossless: bool


class Unreadable(Exception):
    """A text that is not JSON: where, and why."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(problem)
        self.place = place
        self.problem = problem


def read_file(file: Path, wanted: Format | None, now: float) -> tuple[list[Found], Findings]:
    """All conversations in `file`, in format `wanted` (None: what it looks like), and what is wrong with others.

    Raises `UsageError`, or `StoreError` for a database, if nothing of the file can be read at all.
    """
    findings = Findings(str(file))
    found = _read(file, wanted, findings, now)
    if not found and not findings.faults:
        findings.fault("", "there are no conversations in it.")
    return found, findings


def _read(file: Path, wanted: Format | None, findings: Findings, now: float) -> list[Found]:
    beginning = beginning_of(file)
    if is_sqlite(beginning) or wanted == "llm":
        _require(file, wanted, "llm")
        return _built(llm_drafts(file, findings), findings, now)
    if is_zip(beginning):
        _require(file, wanted, "chatgpt")
        found = []
        for name, text in zipped_conversations(file):
            try:
                data = parsed(text)
            except Unreadable as error:
                findings.fault(f"{name}: {error.place}", error.problem)
                continue
            found += _built(chatgpt_drafts(data, findings, name), findings, now)
        return found
    text = text_of(file)
    if wanted == "markdown" or (wanted is None and looks_like_ours(text)):
        return _built(markdown_drafts(text, findings), findings, now)
    data = _data(text, findings)
    if data is _NOTHING:
        return []
    return _in_json(file, data, wanted or _format_of(file, data), findings, now)


def parsed(text: str) -> Any:
    """`text` as JSON; an object that says a key twice becomes `Doubled`. Raises `Unreadable`."""
    try:
        return json.loads(text, object_pairs_hook=_made)
    except json.JSONDecodeError as error:
        raise Unreadable(f"line {error.lineno}, column {error.colno}", f"not JSON: {error.msg}.") from error
    except RecursionError as error:
        raise Unreadable("", "nested too deeply.") from error
    except ValueError as error:
        raise Unreadable("", "a number in it has too many digits.") from error
    except MemoryError as error:
        raise Unreadable("", "too large for this machine's memory.") from error


def _made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    return made if len(made) == len(pairs) else Doubled(pairs)


def _data(text: str, findings: Findings) -> Any:
    """The JSON, or the list of JSON lines, in `text`; `_NOTHING`, and a fault, if it is neither."""
    try:
        return parsed(text)
    except Unreadable as whole:
        lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
        items: list[Any] = []
        faults: list[tuple[str, str]] = []
        for n, line in lines:
            try:
                items.append(Line(n, parsed(line)))
            except Unreadable as error:
                faults.append((f"line {n}", error.problem))
        if len(lines) < 2 or not any(isinstance(item.value, dict | list) for item in items):
            findings.fault(whole.place, whole.problem)
            return _NOTHING
        for place, problem in faults:
            findings.fault(place, problem)
        return items


@dataclass(frozen=True, slots=True)
class Line:
    """One line of JSON Lines, numbered from 1."""

    n: int
    value: Any


def _in_json(file: Path, data: Any, format: Format, findings: Findings, now: float) -> list[Found]:
    lines = [item for item in data if isinstance(item, Line)] if isinstance(data, list) else []
    if format == "chatkv":
        bodies = [(f"line {line.n}: ", line.value) for line in lines] or [("", data)]
        return [
            Found(str(file), where + place, whole, lossless=True)
            for where, body in bodies
            for place, whole in envelope_wholes(body, findings)
        ]
    read = {"chatgpt": chatgpt_drafts, "sharegpt": sharegpt_drafts}.get(format)
    if read is None:
        raise UsageError(f"{file} is JSON, and no {format}.", "Leave out --format, or name another one.")
    if lines:
        drafts: Iterator[Draft] = (
            draft for line in lines for draft in read(line.value, findings, f"line {line.n}: ")
        )
    else:
        drafts = read(data, findings, "")
    return _built(drafts, findings, now)


def _built(drafts: Iterable[Draft], findings: Findings, now: float) -> list[Found]:
    made = ((draft.place, built(draft, findings, now)) for draft in drafts)
    return [Found(findings.file, place, whole, lossless=False) for place, whole in made if whole is not None]


def _require(file: Path, wanted: Format | None, format: Format) -> None:
    if wanted not in (None, format):
        raise UsageError(f"{file} is no {wanted}: it looks like {format}.", "Leave out --format.")


def _format_of(file: Path, data: Any) -> Format:
    """What program wrote `data`. Raises `UsageError` if it looks like nothing known."""
    items = (
        [item.value if isinstance(item, Line) else item for item in data]
        if isinstance(data, list)
        else [data]
    )
    for item in items[:_LOOKED_AT]:
        inner = item.get("conversations") if isinstance(item, dict) else item
        first = inner[0] if isinstance(inner, list) and inner else None
        if isinstance(item, dict) and ("sessions" in item or item.get("format") == "chatkv"):
            return "chatkv"
        if any(isinstance(value, dict) and "mapping" in value for value in (item, first)):
            return "chatgpt"
        if is_record(item) or is_message(item) or is_message(first):
            return "sharegpt"
    if data == []:
        raise UsageError(f"{file} is an empty list: there are no conversations in it.", "Export it again.")
    raise UsageError(f"{file}: no format of conversations that is known here.", f"Known are {_KNOWN}.")
