"""The sidebar in one line, for terminals too small for it."""

from __future__ import annotations

from chatkv.tui import units
from chatkv.tui.gauges import Gauges
from chatkv.tui.widgets.line import Line

_MEANING = """KV cache used of budget · tokens · reused + prefilled (early ones included) → decoded.
"over soft": old turns are summarized when nothing else is to be done; "over hard": before the next prompt is read."""


class GaugeLine(Line):
    """Draws the essentials of `Gauges`: how full the cache is, what this turn took."""

    def on_mount(self) -> None:
        """Say what the figures mean."""
        self.tooltip = _MEANING

    def show_gauges(self, gauges: Gauges) -> None:
        """Draw these gauges."""
        self.show(spoken(gauges))


def spoken(gauges: Gauges) -> str:
    """The gauges in as few cells as make sense."""
    kv, row = gauges.kv, gauges.current
    parts = [f"KV {units.mib(kv.used_bytes)}/{units.mib(kv.budget_bytes)} MiB" if kv else "KV empty"]
    if kv:
        parts.append(f"{units.compact(kv.tokens)} tok")
    if row:
        read = row.prefilled + (row.early or 0)
        reused = units.NOTHING if row.reused is None else units.compact(row.reused)
        parts.append(f"{reused}+{units.compact(read)}→{units.compact(row.decoded)}")
        parts.append(f"{units.rate(row.tpot_s)} t/s")
    if kv and 0 < kv.soft_tokens <= kv.tokens:
        parts.append("over hard ▴" if kv.tokens >= kv.hard_tokens else "over soft ▴")
    return " · ".join(parts)
