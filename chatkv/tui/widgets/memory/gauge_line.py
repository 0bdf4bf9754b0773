"""The sidebar in one line, for terminals too small for it."""

from __future__ import annotations

from chatkv.tui import units
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.widgets.line import Line
from chatkv.tui.widgets.memory import bar
from chatkv.tui.widgets.memory.memory_bar import limit_bytes, live_bytes, over_mark

_BAR_CELLS = 10
_APART = " · "
_MEANING = """KV cache: how full (━ used, ╍ held, ─ free), bytes of the budget, tokens.
This turn: tokens reused + prefilled (early ones included) → decoded; seconds to the first; tokens a second.
"over soft": old turns are summarized when nothing else is to be done; "over hard": before the next prompt is read."""


class GaugeLine(Line):
    """Draws the essentials of `Gauges`: how full the cache is, what this turn took."""

    def __init__(self) -> None:
        super().__init__()
        self._gauges = Gauges()
        self.tooltip = _MEANING

    def show_gauges(self, gauges: Gauges) -> None:
        """Draw these gauges."""
        self._gauges = gauges
        if self.size.width:
            self.show(spoken(gauges, self.size.width))

    def on_resize(self) -> None:
        """As much as fits."""
        self.show_gauges(self._gauges)


def spoken(gauges: Gauges, width: int = 80) -> str:
    """What matters most of the gauges, in at most `width` cells."""
    parts = _parts(gauges)
    chosen: list[int] = []
    for _, place, _ in sorted(parts):
        wanted = sorted([*chosen, place])
        if len(_set(parts, wanted)) <= width:
            chosen = wanted
    return _set(parts, chosen)


def _set(parts: list[tuple[int, int, str]], places: list[int]) -> str:
    return "".join(text for _, place, text in parts if place in places).removeprefix(_APART)


def _parts(gauges: Gauges) -> list[tuple[int, int, str]]:
    """(rank, place, text): what is left out last has the lowest rank."""
    kv, row, coming, line = gauges.kv, gauges.current, gauges.coming, ""
    if kv is None:
        texts = [(0, "KV empty")]
    else:
        used, budget = live_bytes(kv, gauges.tokens), limit_bytes(kv)
        parts = bar.memory(used, max(used, kv.reserved_bytes), budget, _BAR_CELLS)
        line = " " + "".join(text for _, text in parts)
        texts = [(0, f"KV {units.mib(int(used))}/{units.mib(kv.budget_bytes)} MiB"), (5, line)]
        texts.append((4, f"{units.compact(gauges.tokens)} tok"))
    if coming is not None:
        texts.append((1, f"draft {coming.prefilled:,} early"))
    elif row is not None:
        read = row.prefilled + (row.early or 0)
        reused = units.NOTHING if row.reused is None else units.compact(row.reused)
        texts.append((1, f"{reused}+{units.compact(read)}→{units.compact(row.decoded)}"))
        texts.append((6, f"{units.seconds(row.ttft_s)} s"))
        texts.append((3, f"{units.rate(row.tpot_s)} t/s"))
    if over := over_mark(kv, gauges.tokens):
        texts.append((2, f"over {over} ▴"))
    apart = [text if text == line else f"{_APART}{text}" for _, text in texts]
    return [(rank, place, text) for place, ((rank, _), text) in enumerate(zip(texts, apart, strict=True))]
