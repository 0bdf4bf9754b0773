"""The keys that work everywhere in the app: what each does, in the words that help and palette show."""

from __future__ import annotations

from textual.binding import Binding, BindingType


def _key(keys: str, action: str, label: str, name: str, meaning: str, *, show: bool = False) -> Binding:
    return Binding(keys, action, label, id=f"app.{name}", priority=True, show=show, tooltip=meaning)


APP_KEYS: list[BindingType] = [
    _key("f1", "help", "Help", "help", "List all keys", show=True),
    _key("ctrl+p", "command_palette", "Commands", "palette", "Search all commands, change the theme"),
    _key("f10", "settings", "Settings", "settings", "Read and change every setting"),
    _key("ctrl+q", "quit", "Quit", "quit", "Quit; the answer is saved"),
    Binding(
        "ctrl+c",
        "interrupt",
        "Quit",
        id="app.interrupt",
        show=False,
        tooltip="Copy the selection; twice: quit",
    ),
]
