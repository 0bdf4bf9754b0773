"""The bar of the KV cache's limit: used, reserved, free. Different glyphs as well as colours."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.widget import Widget

from chatkv.protocol import Kv
from chatkv.tui.widgets import bar


class MemoryBar(Widget):
    """Draws used and reserved bytes as parts of what budget and context allow."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"bar--used", "bar--reserved", "bar--free"}

    def __init__(self) -> None:
        super().__init__()
        self._kv: Kv | None = None

    def show(self, kv: Kv | None) -> None:
        """Draw this state; None = no KV."""
        if kv != self._kv:
            self._kv = kv
            self.refresh()

    def render(self) -> Text:
        """The bar at the present width."""
        kv = self._kv or Kv(0, 0, 0, 0, 0)
        parts = bar.memory(kv.used_bytes, kv.reserved_bytes, limit_bytes(kv), self.size.width)
        names = ("used", "reserved", "free")
        styles = (self.get_component_rich_style(f"bar--{name}", partial=True) for name in names)
        return Text.assemble(*zip(parts, styles, strict=True), end="")


def limit_bytes(kv: Kv) -> float:
    """Bytes of the KV at its limit: those of the budget, or of as many tokens as may be in it, if known."""
    if not kv.limit_tokens or not kv.tokens:
        return kv.budget_bytes
    return kv.limit_tokens * kv.used_bytes / kv.tokens
