"""The keys of the session list."""

from __future__ import annotations

from textual.binding import Binding, BindingType


def _key(keys: str, action: str, label: str, name: str, meaning: str, *, show: bool = False) -> Binding:
    return Binding(keys, action, label, id=f"sessions.{name}", priority=True, show=show, tooltip=meaning)


SESSION_KEYS: list[BindingType] = [
    _key("enter", "open", "Open", "open", "Open what is marked; a message at its place", show=True),
    _key("ctrl+n", "new", "New", "new", "Start a new session", show=True),
    _key("ctrl+r", "rename", "Rename", "rename", "Change the title", show=True),
    _key("ctrl+d", "delete", "Delete", "delete", "Delete the session for good, after a question", show=True),
    Binding("escape", "close", "Back", id="sessions.close", tooltip="Back to the conversation"),
    _key("up", "move(-1)", "Up", "up", "Mark the one above"),
    _key("down", "move(1)", "Down", "down", "Mark the one below"),
    _key("pageup", "move(-8)", "Page up", "pageup", "Eight up"),
    _key("pagedown", "move(8)", "Page down", "pagedown", "Eight down"),
]
