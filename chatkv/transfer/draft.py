"""A conversation of another program as a tree of plain nodes, and that tree as a session of ours.

Knows no file format. Messages of one role in a row become one, for an answer follows each message here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from chatkv.store import Whole
from chatkv.transfer.findings import Findings
from chatkv.transfer.identity import content_of, session_id_of

UNKNOWN_MODEL = "imported"
_JOINT = "\n\n"
_TITLE_CHARS = 60
_MOST_GROWTH = 8
_ROOM_CHARS = 1 << 20


@dataclass(frozen=True, slots=True)
class Node:
    """One message as it came. `role`: user, assistant, system, or empty: it only holds its children."""

    key: str
    parent: str | None
    role: str
    text: str = ""
    thought: str = ""
    model: str = ""
    created_at: float | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """One conversation. A parent that is no node's key counts as none; there is no cycle among `nodes`."""

    place: str
    nodes: Sequence[Node]
    leaf: str | None
    title: str = ""
    system: str | None = None
    model: str = ""
    created_at: float | None = None
    updated_at: float | None = None
    identity: str = ""
    """What other exports of the same conversation have in common; empty: its content."""
    session_id: str = ""
    """Its id, if it has one of ours."""
    joined: frozenset[str] = frozenset({"user", "assistant"})
    """Roles of which messages in a row become one."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Messages of one role in a row, up to `node`."""

    node: Node
    before: _Run | None
    parent: int | None
    turn: int
    n_chars: int


@dataclass(slots=True)
class _Tree:
    """The nodes with something in them, by what they follow."""

    children: defaultdict[str | None, list[Node]] = field(default_factory=lambda: defaultdict(list))
    home: dict[str, str | None] = field(default_factory=dict)
    """By key, also of nodes that are left out: the nearest node that stays."""
    system: list[str] = field(default_factory=list)


class TooManyBranches(Exception):
    """Messages in a row with branches in between would have to be stored far too often."""


def built(draft: Draft, findings: Findings, now: float) -> Whole | None:
    """The session of a draft; None, and a fault, if nothing is in it. `now` stands for times that are not known."""
    tree = _pruned(draft, findings)
    try:
        rows, ids = _messages(draft, tree, now)
    except TooManyBranches:
        findings.fault(draft.place, "too many branches between messages of one role.")
        return None
    system = _JOINT.join(dict.fromkeys([*([draft.system] if draft.system is not None else []), *tree.system]))
    if not rows:
        findings.fault(draft.place, "this conversation has no messages.")
        return None
    leaf = ids.get(tree.home.get(draft.leaf or "") or "", rows[-1]["id"])
    times = [node.created_at for node in draft.nodes if node.created_at is not None]
    known = draft.created_at if draft.created_at is not None else min(times, default=None)
    created = now if known is None else known
    last = draft.updated_at if draft.updated_at is not None else max(times, default=created)
    session = {
        "id": "",
        "title": draft.title.strip() or _title_of(rows),
        "model": draft.model or _model_of(rows, leaf) or UNKNOWN_MODEL,
        "system": system if system or draft.system is not None else None,
        "leaf_id": leaf,
        "created_at": created,
        "updated_at": last,
        "carried_from": None,
        "spec": "",
    }
    session["id"] = draft.session_id or session_id_of(draft.identity or content_of(session, rows), known)
    for row in rows:
        row["session_id"] = session["id"]
        row["model"] = row["model"] or session["model"]
    return Whole(session, messages=rows)


def _model_of(rows: list[dict[str, object]], leaf: object) -> object:
    """The model of the newest answer on the branch in use."""
    at = leaf
    while isinstance(at, int):
        row = rows[at - 1]
        if row["model"]:
            return row["model"]
        at = row["parent_id"]
    return ""


def _title_of(rows: list[dict[str, object]]) -> str:
    first = next((str(row["text"]) for row in rows if row["role"] == "user"), str(rows[0]["text"]))
    title = " ".join(first[: 20 * _TITLE_CHARS].split())
    return title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1] + "…"


def _pruned(draft: Draft, findings: Findings) -> _Tree:
    """The tree without its empty nodes. System messages in front of all others go into the system prompt."""
    below: defaultdict[str | None, list[Node]] = defaultdict(list)
    keys = {node.key for node in draft.nodes}
    for node in draft.nodes:
        below[node.parent if node.parent in keys else None].append(node)
    tree = _Tree()
    waiting: list[tuple[Node, str | None, bool]] = [(node, None, True) for node in reversed(below[None])]
    while waiting:
        node, above, in_front = waiting.pop()
        role = node.role
        if role == "system" and not in_front and node.text.strip():
            findings.note("system messages in the middle, kept as messages of the user")
            role = "user"
        if role in ("user", "assistant"):
            tree.children[above].append(replace(node, role=role, parent=above))
            home: str | None = node.key
            in_front = False
        else:
            home = above
            if role == "system" and in_front and node.text.strip():
                tree.system.append(node.text)
        tree.home[node.key] = home
        waiting += [(child, home, in_front) for child in reversed(below[node.key])]
    return tree


def _messages(draft: Draft, tree: _Tree, now: float) -> tuple[list[dict[str, object]], dict[str, int]]:
    """Rows of messages, parents first, and the row that each node's text ends in."""
    limit = _MOST_GROWTH * sum(len(node.text) + len(node.thought) for node in draft.nodes) + _ROOM_CHARS
    end = tree.home.get(draft.leaf or "")
    rows: list[dict[str, object]] = []
    ids: dict[str, int] = {}
    waiting = [
        (node, _Run(node, None, None, _turn(node, None, 0), 0)) for node in reversed(tree.children[None])
    ]
    while waiting:
        node, run = waiting.pop()
        children = tree.children[node.key]
        if not children or node.key == end or any(not _joins(draft, node, child) for child in children):
            limit -= run.n_chars + len(node.text) + len(node.thought)
            if limit < 0:
                raise TooManyBranches
            ids[node.key] = len(rows) + 1
            rows.append(_row(len(rows) + 1, run, now))
        for child in reversed(children):
            waiting.append((child, _next_run(draft, child, run, ids.get(node.key))))
    return rows, ids


def _joins(draft: Draft, node: Node, child: Node) -> bool:
    return node.role == child.role and node.role in draft.joined


def _next_run(draft: Draft, child: Node, run: _Run, row_id: int | None) -> _Run:
    n_chars = run.n_chars + len(run.node.text) + len(run.node.thought)
    if _joins(draft, run.node, child):
        return _Run(child, run, run.parent, run.turn, n_chars)
    return _Run(child, None, row_id, _turn(child, row_id, run.turn), 0)


def _turn(node: Node, parent: int | None, before: int) -> int:
    return before + 1 if node.role == "user" or parent is None else before


def _row(row_id: int, run: _Run, now: float) -> dict[str, object]:
    nodes = list(reversed(list(_upwards(run))))
    texts = [node.text for node in nodes]
    return {
        "id": row_id,
        "session_id": "",
        "parent_id": run.parent,
        "role": run.node.role,
        "text": texts[0] if len(texts) == 1 else _JOINT.join(text for text in texts if text),
        "thought": _JOINT.join(node.thought for node in nodes if node.thought),
        "ids": (),
        "answer_start": 0,
        "status": "complete",
        "turn": run.turn,
        "model": next((node.model for node in reversed(nodes) if node.model), ""),
        "created_at": next((node.created_at for node in nodes if node.created_at is not None), now),
        "recalled": "",
    }


def _upwards(run: _Run) -> Iterator[Node]:
    at: _Run | None = run
    while at is not None:
        yield at.node
        at = at.before
