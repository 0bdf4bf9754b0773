"""Hints that name keys: written with ids of bindings, shown with the keys in force."""

from __future__ import annotations

from textual.widget import Widget

from chatkv.tui.settings.keymap import Keymap


def named(widget: Widget, text: str) -> str:
    """`text` with the app's keys where it says `⟨id of a binding⟩`."""
    return _keymap(widget).named(text) if "⟨" in text else text


def typed(widget: Widget, name: str) -> str:
    """The key of the binding with this id, a letter as it is typed."""
    key = _keymap(widget).spoken(name)
    return key.lower() if len(key) == 1 else key


def _keymap(widget: Widget) -> Keymap:
    return getattr(widget.app, "keymap", None) or Keymap()
