"""What a chat template does with what it is given, found by trying it once at load.

Templates are programs without a manual: whether they know a system role, trim text or keep thoughts shows
only in what they print.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatkv.errors import ModelError
from chatkv.tokens.template import Entry, Form, Slot, Template, mark

if TYPE_CHECKING:
    from collections.abc import Collection

_TAGS = (
    ("<think>", "</think>"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("[THINK]", "[/THINK]"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
)
_U, _A, _S = Entry("user"), Entry("assistant"), Entry("system")


@dataclass(frozen=True, slots=True)
class Traits:
    """What was found.

    `system_complaint`: why a system message cannot stand at the front, empty if it can. `trims`: roles whose
    text loses the white space around it. `prompt_tail`: what stands from the user's last word to the answer;
    `closer`: what follows an answer.
    """

    system_complaint: str
    trims: frozenset[str]
    think_tags: tuple[str, str] | None
    opens_thought: bool
    prompt_tail: str
    closer: str


def probe(template: Template, special: Collection[str]) -> Traits:
    """Try `template`, settle `template.form`, say how it behaves. Raises `ModelError` if nothing works."""
    tags = _think_tags(template.source, special)
    template.form = _content_form(template)
    template.form = _thought_form(template, tags)
    complaint = _system_complaint(template)
    roles = ("user", "assistant") if complaint else ("user", "assistant", "system")
    tail = _after_last_slot(template, (_U,), answer=True)
    return Traits(
        system_complaint=complaint,
        trims=frozenset(role for role in roles if _trims(template, role)),
        think_tags=tags,
        opens_thought=tags is not None and tail.rfind(tags[0]) > tail.rfind(tags[1]),
        prompt_tail=tail,
        closer=_closer(template),
    )


def _think_tags(source: str, special: Collection[str]) -> tuple[str, str] | None:
    written = [tags for tags in _TAGS if tags[0] in source or tags[1] in source]
    known = [tags for tags in _TAGS if set(tags) <= set(special)]
    return next(iter(written + known), None)


def _content_form(template: Template) -> Form:
    """Text or list of parts: whichever prints the user's text. The complaint about text is shown first."""
    failure: ModelError | None = None
    for form in (Form(), Form(as_parts=True)):
        template.form = form
        try:
            if _times(template, (_U,), 0) == 1:
                return form
        except ModelError as error:
            failure = failure or error
    raise failure or ModelError(
        "The model's chat template does not print the user's message.",
        "Choose another model, or mend the chat_template beside its tokenizer.",
    )


def _thought_form(template: Template, tags: tuple[str, str] | None) -> Form:
    """The form in which a thought survives at least while its answer is the newest message."""
    plain = template.form
    thoughtful = Entry("assistant", has_thought=True)
    candidates = [dataclasses.replace(plain, thought="field")]
    if tags and tags[1] in template.source and not _echoes(template, tags):
        candidates.append(dataclasses.replace(plain, thought="inline", tags=tags))
    for form in candidates:
        template.form = form
        for shape in ((_U, thoughtful), (_U, thoughtful, _U)):
            if Slot(1, "thought") in template.parts(shape, answer=False):
                return form
    template.form = plain
    return plain


def _echoes(template: Template, tags: tuple[str, str]) -> bool:
    """Whether an answer's text is printed as it is, tags and all: such a template knows nothing of thoughts."""
    text = f"{tags[0]} {mark(1, 'thought')} {tags[1]} {mark(1, 'text')}"
    content = template.form.content
    messages = [{"role": "user", "content": content("q")}, {"role": "assistant", "content": content(text)}]
    return text in template.text(messages, answer=False)


def _system_complaint(template: Template) -> str:
    """Why a system message cannot stand at the front; empty if it can."""
    try:
        first = template.parts((_S, _U), answer=True)
        later = template.parts((_S, _U, _A, _U), answer=True)
    except ModelError:
        return "the model's template has no system role"
    if Slot(0, "text") not in first or Slot(0, "text") not in later:
        return "the model's template drops the system prompt"
    if first.count(Slot(0, "text")) > 1 or later.index(Slot(0, "text")) > later.index(Slot(1, "text")):
        return "the model's template moves the system prompt along with the newest message"
    return ""


def _trims(template: Template, role: str) -> bool:
    """Whether white space around a message of `role` is dropped."""
    roles = {"user": ("user",), "assistant": ("user", "assistant", "user"), "system": ("system", "user")}[
        role
    ]
    at = roles.index(role)
    messages = []
    for n, name in enumerate(roles):
        text = f"\t{mark(n, 'text')}\t" if n == at else mark(n, "text")
        messages.append({"role": name, "content": template.form.content(text)})
    return f"\t{mark(at, 'text')}\t" not in template.text(messages, answer=False)


def _closer(template: Template) -> str:
    """What stands behind the newest answer. Behind older ones there may be another token, which in some
    formats also stands between a thought and its answer: it counts only where the newest has none.
    """
    newest = _after_last_slot(template, (_U, _A), answer=False)
    parts = template.parts((_U, _A, _U), answer=False)
    if newest or Slot(1, "text") not in parts:
        return newest
    behind = parts[parts.index(Slot(1, "text")) + 1]
    return behind if isinstance(behind, str) else ""


def _after_last_slot(template: Template, shape: tuple[Entry, ...], *, answer: bool) -> str:
    last = template.parts(shape, answer=answer)[-1]
    return last if isinstance(last, str) else ""


def _times(template: Template, shape: tuple[Entry, ...], index: int) -> int:
    return template.parts(shape, answer=True).count(Slot(index, "text"))
