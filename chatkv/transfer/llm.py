"""The log of the command line tool `llm` as conversations. How the database is read is the store's business."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chatkv.store.llm_logs import LoggedResponse, read_llm_logs
from chatkv.transfer.draft import Draft, Node
from chatkv.transfer.fences import fenced
from chatkv.transfer.findings import Findings, kind_of


def llm_drafts(file: Path, findings: Findings) -> Iterator[Draft]:
    """The conversations of a log. A response without one is a conversation of its own. Raises `StoreError`."""
    logs = read_llm_logs(file)
    for table in logs.unread:
        findings.note(f"table “{table}”, which holds rows, was not read")
    groups: dict[Any, list[LoggedResponse]] = {}
    for n, response in enumerate(logs.responses):
        conversation = response.row.get("conversation_id")
        groups.setdefault(("alone", n) if conversation is None else conversation, []).append(response)
    for key, responses in groups.items():
        alone = isinstance(key, tuple)
        about = {} if alone else logs.conversations.get(key, {})
        place = f"response {responses[0].row.get('id')}" if alone else f"conversation {key}"
        nodes: list[Node] = []
        for response in responses:
            nodes += _nodes(response, f"response {response.row.get('id')}", findings)
        linked = [Node(str(n), str(n - 1) if n else None, *rest) for n, rest in enumerate(map(_rest, nodes))]
        title, model = about.get("name"), about.get("model")
        yield Draft(
            place,
            linked,
            leaf=None,
            title=title if isinstance(title, str) else "",
            system=_system(responses, findings),
            model=model if isinstance(model, str) and not any(node.model for node in nodes) else "",
            identity=f"llm {place}",
        )


def _rest(node: Node) -> tuple[str, str, str, str, float | None]:
    return node.role, node.text, node.thought, node.model, node.created_at


def _system(responses: list[LoggedResponse], findings: Findings) -> str | None:
    """The system prompts of a conversation, each once: `llm` notes them with every response."""
    texts: dict[str, None] = {}
    for response in responses:
        place = f"response {response.row.get('id')}.system"
        pieces = [*response.system_fragments, response.row.get("system")]
        text = "\n".join(filter(None, (_text(piece, place, findings) for piece in pieces)))
        if text:
            texts[text] = None
    return "\n\n".join(texts) if texts else None


def _nodes(response: LoggedResponse, place: str, findings: Findings) -> Iterator[Node]:
    row = response.row
    findings.note("attachments left out (pictures, sound, files)", response.n_attachments)
    at = _when(row.get("datetime_utc"))
    model = row.get("model")
    model = model if isinstance(model, str) else ""
    pieces = [*response.prompt_fragments, row.get("prompt")]
    asked = "\n".join(filter(None, (_text(piece, f"{place}.prompt", findings) for piece in pieces)))
    given = [
        fenced(_text(result.get("output"), f"{place}.tool_results", findings))
        for result in response.tool_results
    ]
    calls = [fenced(f"{call.get('name')}({call.get('arguments')})") for call in response.tool_calls]
    answer = _text(row.get("response"), f"{place}.response", findings)
    thought = _text(row.get("reasoning"), f"{place}.reasoning", findings)
    results = "\n\n".join(filter(None, given))
    if results:
        yield Node("", None, "assistant", results, "", model, at)
    if asked or not results:  # a prompt that only hands back what a tool said is nobody's message
        yield Node("", None, "user", asked, "", "", at)
    text = "\n\n".join(filter(None, (answer, *calls)))
    if text or thought:
        yield Node("", None, "assistant", text, thought, model, at)


def _text(value: Any, place: str, findings: Findings) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    findings.fault(place, f"expected text, found {kind_of(value)}.")
    return ""


def _when(value: Any) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        told = datetime.datetime.fromisoformat(value)
        told = told.replace(tzinfo=datetime.UTC) if told.tzinfo is None else told
        return max(0.0, told.timestamp())
    except (ValueError, OverflowError):
        return None
