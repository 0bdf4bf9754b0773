"""Reads conversations back from our own Markdown, exactly as to texts and roles.

Summaries, and names of documents, are there to be read by people: they are counted, not taken over.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass

from chatkv.transfer.draft import Draft, Node
from chatkv.transfer.findings import Findings, is_time, short
from chatkv.transfer.identity import is_session_id
from chatkv.transfer.markup import CLOSING, ESCAPED, OPENING, Mark, mark_in, plain, unguarded

_FIELD = re.compile(r"- (Session|Model|Started|Last used|Document|Untitled|Goes on from)(?:: (.*))?")
_HEADING = re.compile(r"#{2,3} .*\n\n")


@dataclass(frozen=True, slots=True)
class _Section:
    """What stands between two marks. `line` counts from 1."""

    mark: Mark
    line: int
    body: str


def looks_like_ours(text: str) -> bool:
    """Whether a text begins as our Markdown does."""
    return text.lstrip().startswith("<!-- chatkv conversation")


def markdown_drafts(text: str, findings: Findings) -> Iterator[Draft]:
    """The conversations in `text`, which may stand one after another."""
    # Where a message has a carriage return it is written as an entity: any other is an editor's.
    sections = _sections(text.replace("\r\n", "\n"), findings)
    current: list[_Section] = []
    for section in sections:
        if section.mark.kind == "conversation" and current:
            yield from _draft(current, findings)
            current = []
        current.append(section)
    if current:
        yield from _draft(current, findings)


def _sections(text: str, findings: Findings) -> Iterator[_Section]:
    lines = text.split("\n")
    starts = [(n, mark) for n, line in enumerate(lines) if (mark := mark_in(line))]
    before = lines[: starts[0][0]] if starts else lines
    if any(line.strip() for line in before):
        findings.fault("line 1", f"expected {OPENING}.")
    ends = [*(n for n, _ in starts[1:]), len(lines)]
    for (n, mark), following in zip(starts, ends, strict=False):
        if mark.kind == "end" and any(line.strip() for line in lines[n + 1 : following]):
            findings.fault(f"line {n + 2}", "text after the end of a conversation is not taken over.")
        yield _Section(mark, n + 1, "\n".join(lines[n + 1 : following]))


def _draft(sections: list[_Section], findings: Findings) -> Iterator[Draft]:
    first, rest = sections[0], sections[1:]
    place = f"line {first.line}"
    if first.mark != Mark("conversation", ("1",)):
        findings.fault(place, f"expected {OPENING}, found {short(first.mark.line())}.")
        return
    if not rest or rest[-1].mark.kind != "end":
        last = rest[-1] if rest else first
        findings.fault(f"line {last.line}", f"the conversation is cut: {CLOSING} is missing.")
    title, fields, n_documents = _head(first.body)
    findings.note("texts of documents left out (export as JSON to keep them)", n_documents)
    nodes: list[Node] = []
    system: str | None = None
    thought = ""
    for section, following in zip(rest, [*rest[1:], None], strict=True):
        kind = section.mark.kind
        text = _text(section)
        if kind == "system":
            system = text
        elif kind == "thought":
            thought = text
            if following is None or following.mark.kind != "assistant":
                findings.fault(f"line {section.line}", "a thought without an answer is not taken over.")
                thought = ""
        elif kind in ("user", "assistant"):
            at = next(filter(None, map(_seconds, section.mark.words)), None)
            key, parent = str(len(nodes)), nodes[-1].key if nodes else None
            nodes.append(Node(key, parent, kind, text, thought, "", at))
            thought = ""
        elif kind == "summary":
            findings.note("summaries left out (export as JSON to keep them)")
        elif kind != "end":
            findings.fault(f"line {section.line}", f"unknown mark {short(section.mark.line())}.")
    session_id = fields.get("Session", "")
    yield Draft(
        place,
        nodes,
        leaf=nodes[-1].key if nodes else None,
        title=title,
        system=system,
        model=plain(fields.get("Model", "")),
        created_at=_seconds(fields.get("Started", "")),
        updated_at=_seconds(fields.get("Last used", "")),
        session_id=session_id if is_session_id(session_id) else "",
        joined=frozenset({"assistant"}),
    )


def _head(body: str) -> tuple[str, dict[str, str], int]:
    """The title, what the list below it says, and how many documents it names."""
    title, n_documents = "", 0
    fields: dict[str, str] = {}
    for line in body.split("\n"):
        field = _FIELD.fullmatch(line)
        if line.startswith("# ") and not title:
            title = plain(line[2:])
        elif field and field[1] == "Document":
            n_documents += 1
        elif field:
            fields.setdefault(field[1], field[2] or "")
    return "" if "Untitled" in fields else title, fields, n_documents


def _text(section: _Section) -> str:
    heading = _HEADING.match(section.body)
    body = section.body[heading.end() :] if heading else section.body
    return unguarded(body.removesuffix("\n"), escaped=ESCAPED in section.mark.words)


def _seconds(text: str) -> float | None:
    try:
        told = datetime.datetime.fromisoformat(text.replace(" UTC", "Z")).timestamp()
    except (ValueError, OverflowError):
        return None
    return told if is_time(told) else None
