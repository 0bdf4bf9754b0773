"""The keys of the main screen: what each does, in the words that help and palette show."""

from __future__ import annotations

from textual.binding import Binding, BindingType


def _key(keys: str, action: str, label: str, meaning: str, *, show: bool = False) -> Binding:
    return Binding(keys, action, label, id=f"chat.{action}", show=show, priority=True, tooltip=meaning)


CHAT_KEYS: list[BindingType] = [
    _key("escape", "stop", "Stop", "Stop the answer; take back what is queued; leave edit mode", show=True),
    _key("ctrl+o,f2", "sessions", "Sessions", "List all sessions: open, rename, delete", show=True),
    _key("ctrl+n", "new", "New", "Start a new session", show=True),
    _key("ctrl+r", "regenerate", "Again", "Answer the last message again", show=True),
    _key("ctrl+g", "extend", "Continue", "Continue an answer that was cut or stopped", show=True),
    _key("f3", "edit_last", "Edit", "Edit your last message and send it anew"),
    _key("ctrl+y", "copy_answer", "Copy", "Copy the last answer to the clipboard"),
    _key("ctrl+b", "sidebar", "Memory", "Show or hide the memory sidebar", show=True),
    _key("pageup", "page_up", "Page up", "Scroll the conversation up"),
    _key("pagedown", "page_down", "Page down", "Scroll the conversation down"),
    _key("ctrl+home", "top", "Top", "Go to the beginning of the conversation"),
    _key("ctrl+end", "end", "End", "Go to the end of the conversation and follow it"),
    _key("f5", "try_again", "Try again", "Start the model process again after it kept dying"),
]
