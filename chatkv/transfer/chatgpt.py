"""ChatGPT's `conversations.json`: a list of conversations, each a tree of messages under `mapping`.

Knows the tree; what a message says is read in `chatgpt_content`. No official description exists: nothing is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatkv.transfer.chatgpt_content import Said, said_in
from chatkv.transfer.draft import Draft, Node
from chatkv.transfer.findings import Findings, kind_of, seconds, short

_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "tool": "assistant",
    "system": "system",
    "developer": "system",
}


def chatgpt_drafts(data: Any, findings: Findings, where: str = "") -> Iterator[Draft]:
    """The conversations in `data`; what is wrong goes to `findings` under places that begin with `where`."""
    if isinstance(data, dict) and "mapping" in data:
        data = [data]
        places = [where]
    else:
        if isinstance(data, dict):
            data, where = data.get("conversations"), f"{where}.conversations"
        data = findings.a_list(data, where)
        places = [f"{where}[{n}]" for n in range(len(data or []))]
    for place, item in zip(places, data or [], strict=True):
        conversation = findings.an_object(item, place)
        if conversation is None:
            continue
        mapping = findings.an_object(conversation.get("mapping"), f"{place}.mapping")
        if mapping is not None:
            yield _draft(conversation, mapping, place, findings)


def _draft(conversation: dict[str, Any], mapping: dict[str, Any], place: str, findings: Findings) -> Draft:
    entries = {key: findings.an_object(entry, f"{place}.mapping.{key}") for key, entry in mapping.items()}
    sound = {key: entry for key, entry in entries.items() if entry is not None}
    parents = _parents(sound, place, findings)
    created = seconds(conversation.get("create_time"))
    nodes = [
        _node(key, parents[key], sound[key].get("message"), f"{place}.mapping.{key}.message", findings)
        for key in _in_order(sound)
    ]
    current = conversation.get("current_node")
    if current is not None and (not isinstance(current, str) or current not in sound):
        findings.fault(
            f"{place}.current_node", f"there is no node {short(current)}; the newest branch is used."
        )
    title, model = conversation.get("title"), conversation.get("default_model_slug")
    identity = conversation.get("conversation_id") or conversation.get("id")
    return Draft(
        place or "the conversation",
        nodes,
        leaf=current if isinstance(current, str) and current in sound else None,
        title=title if isinstance(title, str) else "",
        model=model if isinstance(model, str) and not any(node.model for node in nodes) else "",
        created_at=created,
        updated_at=seconds(conversation.get("update_time")),
        identity=f"chatgpt {identity}" if isinstance(identity, str) else "",
    )


def _parents(entries: dict[str, dict[str, Any]], place: str, findings: Findings) -> dict[str, str | None]:
    """What each node follows: as it says itself, else as a list of children says; without cycles."""
    listed: dict[str, str] = {}
    for key, entry in entries.items():
        for child in _children(entry):
            listed.setdefault(child, key)
    parents: dict[str, str | None] = {}
    for key, entry in entries.items():
        told = entry.get("parent")
        parent = told if isinstance(told, str) and told in entries else listed.get(key)
        if told is not None and parent != told:
            findings.fault(
                f"{place}.mapping.{key}.parent",
                f"there is no node {short(told)}; "
                + ("it stands where its parent lists it." if parent else "it begins a branch."),
            )
        parents[key] = parent
    done: set[str] = set()
    for key in entries:
        walk: list[str] = []
        inside: set[str] = set()
        at: str | None = key
        while at is not None and at not in done:
            if at in inside:
                findings.fault(f"{place}.mapping.{at}.parent", "it follows itself; it begins a branch.")
                parents[at] = None
                break
            walk.append(at)
            inside.add(at)
            at = parents[at]
        done.update(walk)
    return parents


def _in_order(entries: dict[str, dict[str, Any]]) -> list[str]:
    """Keys such that children stand in the order in which their parent lists them."""
    ranks: dict[str, int] = {}
    for entry in entries.values():
        for rank, child in enumerate(_children(entry)):
            ranks.setdefault(child, rank)
    return sorted(entries, key=lambda key: ranks.get(key, len(entries)))


def _children(entry: dict[str, Any]) -> list[str]:
    children = entry.get("children")
    return [child for child in children if isinstance(child, str)] if isinstance(children, list) else []


def _node(key: str, parent: str | None, message: Any, place: str, findings: Findings) -> Node:
    empty = Node(key, parent, "")
    if message is None:
        return empty
    sound = findings.an_object(message, place)
    if sound is None:
        return empty
    author = sound.get("author")
    told = author.get("role") if isinstance(author, dict) else sound.get("role")
    role = _ROLES.get(told) if isinstance(told, str) else None
    if role is None:
        what = short(told) if isinstance(told, str) else kind_of(told)
        findings.fault(f"{place}.author.role", f"unknown role {what}.")
        return empty
    metadata = sound.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    said = said_in(sound, metadata, f"{place}.content", findings)
    if said.is_system or metadata.get("is_user_system_message") is True:
        role = "system"
    if not said.text and not said.thought:
        return empty
    if role != "system" and metadata.get("is_visually_hidden_from_conversation") is True:
        findings.note("hidden messages left out")
        return empty
    model = metadata.get("model_slug")
    return _filled(key, parent, role, said, model if isinstance(model, str) else "", sound.get("create_time"))


def _filled(key: str, parent: str | None, role: str, said: Said, model: str, created_at: Any) -> Node:
    thought = said.thought if role == "assistant" else ""
    text = said.text if role == "assistant" else "\n\n".join(filter(None, (said.thought, said.text)))
    return Node(key, parent, role, text, thought, model if role == "assistant" else "", seconds(created_at))
