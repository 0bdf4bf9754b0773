"""Hints that name keys: written with ids of bindings, shown with the keys in force."""

from __future__ import annotations

from textual.widget import Widget

from chatkv.tui.settings.keymap import Keymap


def named(widget: Widget, text: str) -> str:
    """`text` with the app's keys where it says `⟨id of a binding⟩`."""
    keymap = getattr(widget.app, "keymap", None) or Keymap()
    return keymap.named(text) if "⟨" in text else text
