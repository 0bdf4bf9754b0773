"""What one message of a ChatGPT export says, in text: every kind of content that holds some.

Pictures, sound and files are not taken over, but counted. Knows nothing of the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chatkv.transfer.fences import fenced
from chatkv.transfer.findings import Findings, kind_of, short

Content = dict[str, Any]

_LEFT_OUT = "attachments left out (pictures, sound, files)"


@dataclass(frozen=True, slots=True)
class Said:
    """Text and thought of a message. `is_system`: it is an instruction, whoever is named as its author."""

    text: str = ""
    thought: str = ""
    is_system: bool = False


def said_in(message: Content, metadata: Content, place: str, findings: Findings) -> Said:
    """What `message` says; empty where its content is of no kind that holds text, which is noted."""
    attached = metadata.get("attachments")
    findings.note(_LEFT_OUT, len(attached) if isinstance(attached, list) else 0)
    content = message.get("content")
    if content is None or isinstance(content, str):
        return Said(content or "")
    sound = findings.an_object(content, place)
    if sound is None:
        return Said()
    kind = sound.get("content_type", "text")
    read = _KINDS.get(kind) if isinstance(kind, str) else None
    if read is not None:
        return read(sound, place, findings)
    said = _anything(sound, place, findings)
    if not said.text:
        findings.note(f"messages of the unknown kind {short(kind)} left out")
    return said


def _parts(content: Content, place: str, findings: Findings) -> Said:
    parts = content.get("parts")
    if parts is None:
        return Said(_text_at(content, "text", place, findings))
    texts: list[str] = []
    for n, part in enumerate(findings.a_list(parts, f"{place}.parts") or []):
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            text = part.get("text")
            if isinstance(text, str):  # what was said aloud comes with its words
                texts.append(text)
            elif part:
                findings.note(_LEFT_OUT)
        elif part is not None:
            findings.fault(f"{place}.parts[{n}]", f"expected text or an object, found {kind_of(part)}.")
    return Said("\n".join(text for text in texts if text))


def _code(content: Content, place: str, findings: Findings) -> Said:
    language = content.get("language")
    known = isinstance(language, str) and language != "unknown" and language.isalnum()
    return Said(fenced(_text_at(content, "text", place, findings), str(language) if known else ""))


def _output(content: Content, place: str, findings: Findings) -> Said:
    return Said(fenced(_text_at(content, "text", place, findings)))


def _thoughts(content: Content, place: str, findings: Findings) -> Said:
    texts = []
    for n, item in enumerate(findings.a_list(content.get("thoughts"), f"{place}.thoughts") or []):
        thought = findings.an_object(item, f"{place}.thoughts[{n}]")
        if thought is not None:
            told = [thought.get(key) for key in ("summary", "content")]
            texts.append("\n".join(text for text in told if isinstance(text, str) and text))
    return Said(thought="\n\n".join(text for text in texts if text))


def _recap(content: Content, place: str, findings: Findings) -> Said:
    return Said(thought=_text_at(content, "content", place, findings))


def _instructions(content: Content, place: str, findings: Findings) -> Said:
    keys = ("user_profile", "user_instructions", "model_set_context")
    texts = [_text_at(content, key, place, findings) for key in keys if key in content]
    return Said("\n\n".join(text for text in texts if text), is_system=True)


def _quote(content: Content, place: str, findings: Findings) -> Said:
    keys = ("title", "url", "text")
    return Said("\n".join(filter(None, (_text_at(content, key, place, findings) for key in keys))))


def _anything(content: Content, place: str, findings: Findings) -> Said:
    """Whatever text stands under the names that other kinds use."""
    keys = [
        key
        for key in ("name", "title", "summary", "result", "text", "content")
        if isinstance(content.get(key), str)
    ]
    texts = [content[key] for key in keys if content[key]]
    if isinstance(content.get("parts"), list):
        texts.append(_parts(content, place, findings).text)
    return Said("\n".join(texts))


_KINDS: dict[str, Callable[[Content, str, Findings], Said]] = {
    "text": _parts,
    "multimodal_text": _parts,
    "code": _code,
    "execution_output": _output,
    "thoughts": _thoughts,
    "reasoning_recap": _recap,
    "user_editable_context": _instructions,
    "model_editable_context": _instructions,
    "tether_quote": _quote,
    "tether_browsing_display": _anything,
    "system_error": _anything,
}


def _text_at(content: Content, key: str, place: str, findings: Findings) -> str:
    value = content.get(key)
    if isinstance(value, str):
        return value
    if value is not None:
        findings.fault(f"{place}.{key}", f"expected text, found {kind_of(value)}.")
    return ""
