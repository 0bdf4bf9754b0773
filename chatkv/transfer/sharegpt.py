"""Conversations as lists of messages: ShareGPT's `from` and `value`, or `role` and `content`, as JSON or JSON Lines.

Many programs write this, each in its own way. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatkv.transfer.draft import Draft, Node
from chatkv.transfer.fences import fenced
from chatkv.transfer.findings import Findings, kind_of, seconds, short

_LISTS = ("conversations", "messages", "conversation")
_USER = ("human", "user", "prompter")
_ASSISTANT = ("gpt", "assistant", "chatgpt", "bot", "chatbot", "model", "bing", "bard", "claude", "ai")
_TOOL = (
    "tool",
    "function",
    "observation",
    "function_call",
    "tool_call",
    "function_response",
    "tool_response",
)
_ROLES = {
    **dict.fromkeys(_USER, "user"),
    **dict.fromkeys(_ASSISTANT, "assistant"),
    **dict.fromkeys(_TOOL, "tool"),
    **dict.fromkeys(("system", "developer"), "system"),
}


def is_message(value: Any) -> bool:
    """Whether `value` looks like one message."""
    return isinstance(value, dict) and ("from" in value or "role" in value) and not is_record(value)


def is_record(value: Any) -> bool:
    """Whether `value` looks like a conversation with a list of messages."""
    return isinstance(value, dict) and any(isinstance(value.get(name), list) for name in _LISTS)


def sharegpt_drafts(data: Any, findings: Findings, where: str = "") -> Iterator[Draft]:
    """The conversations in `data`: one, a list of them, or a bare list of messages."""
    if isinstance(data, list) and not (data and is_message(data[0])):
        for n, item in enumerate(data):
            yield from _drafts(item, f"{where}[{n}]", findings)
    else:
        yield from _drafts(data, where, findings)


def _drafts(item: Any, place: str, findings: Findings) -> Iterator[Draft]:
    if isinstance(item, list):
        yield Draft(place or "the conversation", _nodes(item, place, findings, ""), leaf=None)
        return
    record = findings.an_object(item, place)
    if record is None:
        return
    name = next((name for name in _LISTS if record.get(name) is not None), None)
    if name is None:
        findings.fault(place, "there is no list of messages (“conversations” or “messages”).")
        return
    turns = findings.a_list(record[name], f"{place}.{name}")
    if turns is None:
        return
    title, model, system = (record.get(key) for key in ("title", "model", "system"))
    times = [seconds(record.get(key)) for key in ("create_time", "update_time")]
    yield Draft(
        place or "the conversation",
        _nodes(turns, f"{place}.{name}", findings, model if isinstance(model, str) else ""),
        leaf=None,
        title=title if isinstance(title, str) else "",
        system=system if isinstance(system, str) and system else None,
        model=model if isinstance(model, str) else "",
        created_at=times[0],
        updated_at=times[1],
    )


def _nodes(turns: list[Any], where: str, findings: Findings, model: str) -> list[Node]:
    nodes: list[Node] = []
    for n, item in enumerate(turns):
        place = f"{where}[{n}]"
        message = findings.an_object(item, place)
        if message is None:
            continue
        told = message.get("from", message.get("role"))
        role = _ROLES.get(told.strip().lower()) if isinstance(told, str) else None
        if role is None:
            what = short(told) if isinstance(told, str) else kind_of(told)
            findings.fault(place, f"unknown author {what}.")
            continue
        text = _text(message, place, findings)
        if role == "tool":
            text = fenced(text)
        calls = message.get("tool_calls")
        text = "\n\n".join(filter(None, (text, *_calls(calls if isinstance(calls, list) else []))))
        thought = message.get("reasoning_content", message.get("reasoning"))
        role = "assistant" if role == "tool" else role
        nodes.append(
            Node(
                str(n),
                nodes[-1].key if nodes else None,
                role,
                text,
                thought if isinstance(thought, str) and role == "assistant" else "",
                model if role == "assistant" else "",
                seconds(message.get("create_time", message.get("timestamp"))),
            )
        )
    return nodes


def _text(message: dict[str, Any], place: str, findings: Findings) -> str:
    key = next((key for key in ("value", "content", "text") if key in message), "content")
    value = message.get(key)
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _of_parts(value, f"{place}.{key}", findings)
    if value is not None:
        findings.fault(f"{place}.{key}", f"expected text, found {kind_of(value)}.")
    elif not message.get("tool_calls"):
        findings.fault(f"{place}.{key}", "there is no text.")
    return ""


def _of_parts(parts: list[Any], place: str, findings: Findings) -> str:
    texts = []
    for n, part in enumerate(parts):
        text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            texts.append(text)
        elif isinstance(part, dict):
            findings.note("attachments left out (pictures, sound, files)")
        else:
            findings.fault(f"{place}[{n}]", f"expected text or an object, found {kind_of(part)}.")
    return "\n".join(texts)


def _calls(calls: list[Any]) -> Iterator[str]:
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield fenced(f"{function.get('name')}({function.get('arguments')})")
