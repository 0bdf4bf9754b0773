"""A conversation as Markdown to read: the branch in use, with its title, dates, system prompt, summaries and names.

`markdown_in` reads texts and roles back exactly. What only JSON can hold is left out, and said by `left_out`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

from chatkv.store import Whole
from chatkv.transfer.identity import branch_in_use
from chatkv.transfer.markup import CLOSING, ESCAPED, OPENING, Mark, guarded, one_line

_NAMES = {"user": "You", "assistant": "Assistant"}


def markdown_of(whole: Whole) -> Iterator[str]:
    """The pieces of the text of one session."""
    session = whole.session
    yield f"{OPENING}\n# {one_line(session['title']) or '(untitled)'}\n\n"
    yield f"- Session: {session['id']}\n- Model: {one_line(session['model'])}\n"
    yield f"- Started: {_when(session['created_at'])}\n- Last used: {_when(session['updated_at'])}\n"
    if not session["title"]:
        yield "- Untitled\n"
    if session["carried_from"]:
        yield f"- Goes on from: {session['carried_from']}\n"
    for document in whole.documents:
        yield f"- Document: {one_line(document['name'])} ({len(document['text']):,} characters)\n"
    yield "\n"
    if session["system"] is not None:
        yield from _section(Mark("system"), "System", session["system"])
    standing = {row["upto_id"]: row for row in whole.summaries if not row["undone"]}
    pinned = {pin["message_id"] for pin in whole.pins}
    for message in branch_in_use(whole):
        yield from _message(message, pinned=message["id"] in pinned)
        summary = standing.get(message["id"])
        if summary and summary["text"]:
            yield from _section(Mark("summary"), "Summary of all up to here", summary["text"])
    yield f"{CLOSING}\n"


def left_out(whole: Whole) -> str:
    """What of a session its Markdown does not say; empty if nothing."""
    n_others = len(whole.messages) - len(branch_in_use(whole))
    n_recalled = sum(1 for message in branch_in_use(whole) if message["recalled"])
    n_undone = sum(1 for summary in whole.summaries if summary["undone"])
    counts = {
        "messages of other branches": n_others,
        "texts of documents": len(whole.documents),
        "passages recalled into messages": n_recalled,
        "summaries that were undone": n_undone,
    }
    return ", ".join(f"{n:,} {what}" for what, n in counts.items() if n)


def _message(message: dict[str, Any], *, pinned: bool) -> Iterator[str]:
    at = _stamp(message["created_at"])
    if message["thought"]:
        yield from _section(Mark("thought"), "Thought", message["thought"], level=3)
    states = [message["status"]] if message["status"] != "complete" else []
    states += ["pinned"] if pinned else []
    name = _NAMES[message["role"]] + (f" ({', '.join(states)})" if states else "")
    yield from _section(Mark(message["role"], (at,) if at else ()), name, message["text"])


def _section(mark: Mark, name: str, text: str, *, level: int = 2) -> Iterator[str]:
    shown, escaped = guarded(text)
    if escaped:
        mark = Mark(mark.kind, (*mark.words, ESCAPED))
    yield f"{mark.line()}\n{'#' * level} {name}\n\n{shown}\n\n"


def _when(seconds: float) -> str:
    return _stamp(seconds).replace("T", " ").replace("Z", " UTC") or "unknown"


def _stamp(seconds: float) -> str:
    """A time as ISO 8601 in UTC, to the microsecond; empty for one that no date can say."""
    try:
        told = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return told.isoformat(timespec="microseconds").replace("+00:00", "Z")
