"""The gauge of the KV cache: used, reserved, warm and free bytes of its limit, with a cross at each mark.

Different glyphs as well as colours.
"""

from __future__ import annotations

from typing import ClassVar

from chatkv.protocol import Kv
from chatkv.tui.memory import kv_map
from chatkv.tui.widgets.memory import bar
from chatkv.tui.widgets.memory.drawing import Drawing


class MemoryBar(Drawing):
    """Draws used and reserved bytes as parts of what budget and context allow."""

    LOOKS = "bar"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "bar--used",
        "bar--soft",
        "bar--hard",
        "bar--reserved",
        "bar--warm",
        "bar--free",
    }

    def __init__(self) -> None:
        super().__init__()
        self._wanted: tuple[Kv | None, int, int] | None = None

    def show(self, kv: Kv | None, tokens: int = 0) -> None:
        """Draw this state; None = no KV. `tokens`: as many are in it by now."""
        wanted = (kv, tokens, self.size.width)
        if self._wanted is not None and kv is self._wanted[0] and wanted[1:] == self._wanted[1:]:
            return
        self._wanted = wanted
        self.draw([self._measured(kv or Kv(0, 0, 0, 0, 0), tokens)])

    def on_resize(self) -> None:
        """The bar is as wide as the widget."""
        if self._wanted is not None:
            self.show(*self._wanted[:2])

    def _measured(self, kv: Kv, tokens: int) -> list[tuple[str, str]]:
        width = self.size.width
        used, ticks = live_bytes(kv, tokens), [at for _, _, at in kv_map.places(kv, width)]
        held = max(used, kv.reserved_bytes)
        parts = bar.memory(used, held, limit_bytes(kv), width, warm=kv.warm_bytes, ticks=ticks)
        over = over_mark(kv, tokens)
        return [(over if over and name == "used" else name, text) for name, text in parts]


def over_mark(kv: Kv | None, tokens: int) -> str:
    """The highest mark that so many tokens pass: `hard`, `soft`, or empty."""
    if kv is None or not kv.hard_tokens:
        return ""
    return "hard" if tokens >= kv.hard_tokens else "soft" if tokens >= kv.soft_tokens > 0 else ""


def live_bytes(kv: Kv, tokens: int) -> float:
    """Bytes that `tokens` take, as many as are in it by now."""
    return kv.used_bytes * tokens / kv.tokens if kv.tokens and tokens else kv.used_bytes


def limit_bytes(kv: Kv) -> float:
    """Bytes of the KV at its limit: those of the budget, or of as many tokens as may be in it, if known."""
    if not kv.limit_tokens or not kv.tokens:
        return kv.budget_bytes
    return kv.limit_tokens * kv.used_bytes / kv.tokens
