"""The keys of the main screen: what each does, in the words that help and palette show."""

from __future__ import annotations

from textual.binding import Binding, BindingType


def _key(keys: str, action: str, label: str, meaning: str, *, show: bool = False) -> Binding:
    return Binding(keys, action, label, id=f"chat.{action}", show=show, priority=True, tooltip=meaning)


CHAT_KEYS: list[BindingType] = [
    _key(
        "escape",
        "stop",
        "Stop",
        "Stop the answer; take back what is queued; leave edit mode; unmark the turn",
        show=True,
    ),
    _key("ctrl+o", "sessions", "Sessions", "Search and list all sessions: open, rename, delete", show=True),
    _key("f2", "editor", "Editor", "Write the message in your own editor ($VISUAL or $EDITOR)"),
    _key("ctrl+n", "new", "New", "Start a new session", show=True),
    _key(
        "ctrl+r",
        "regenerate",
        "Again",
        "Answer the last message again, or that of the marked turn",
        show=True,
    ),
    _key("ctrl+g", "extend", "Continue", "Continue an answer that was cut or stopped", show=True),
    _key("f3", "edit", "Edit", "Edit your last message, or that of the marked turn, and send it anew"),
    _key("f4", "fork", "Fork", "Go on from the marked turn; what followed it stays as a branch"),
    _key("ctrl+up,alt+up", "mark_above", "Mark above", "Mark a turn: the last one, then the one above"),
    _key("ctrl+down,alt+down", "mark_below", "Mark below", "Mark the turn below; past the last one, none"),
    _key("ctrl+f", "find", "Find", "Find words in the conversation"),
    _key(
        "ctrl+t", "thoughts", "Thoughts", "Unfold or fold thoughts: of the marked or last turn, and new ones"
    ),
    _key("f6", "wording_before", "Wording before", "Show the wording of the question before this one"),
    _key("f7", "wording_after", "Wording after", "Show the wording of the question after this one"),
    _key("f8", "answer_before", "Answer before", "Show the answer before this one, and what followed it"),
    _key("f9", "answer_after", "Answer after", "Show the answer after this one, and what followed it"),
    _key("ctrl+l", "model", "Model", "Choose the model that answers from now on"),
    _key("ctrl+y", "copy_answer", "Copy", "Copy the last answer, or that of the marked turn"),
    _key("ctrl+b", "sidebar", "Memory", "Show or hide the memory sidebar", show=True),
    _key("f12", "events", "Events", "List what happened in this session: room made, errors, broken prefixes"),
    _key("pageup", "page_up", "Page up", "Scroll the conversation up"),
    _key("pagedown", "page_down", "Page down", "Scroll the conversation down"),
    _key("ctrl+home", "top", "Top", "Go to the beginning of the conversation"),
    _key("ctrl+end", "end", "End", "Go to the end of the conversation and follow it"),
    _key(
        "f5",
        "try_again",
        "Try again",
        "Start the model process after it kept dying; take over what another window had open",
    ),
]
