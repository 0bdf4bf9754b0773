"""One-line bars as text: how far something is; how much of a budget is used, reserved, warm, free. No widgets."""

from __future__ import annotations

from collections.abc import Iterable

_TICKED = {"used": "┿", "reserved": "┼", "warm": "┼", "free": "┼"}


def progress(done: float, total: float, width: int) -> tuple[str, str]:
    """The drawn and the empty part of a line of `width` cells."""
    share = min(1.0, max(0.0, done / total)) if total > 0 else 0.0
    filled = int(share * width + 1e-9)
    return "━" * filled, "─" * (width - filled)


def memory(
    used: float, reserved: float, budget: float, width: int, *, warm: float = 0.0, ticks: Iterable[int] = ()
) -> list[tuple[str, str]]:
    """A line of `width` cells in parts, each with its name: `used` (to half a cell, never invisible), `reserved` but
    unused, `warm` (other sessions', within the reserved ones), `free`. The cells `ticks` bear a cross."""
    width = max(0, width)
    used_cells, held_cells, warm_cells = (
        min(1.0, part / budget) * width if budget > 0 else 0.0 for part in (used, reserved, warm)
    )
    halves = round(used_cells * 2)
    if used > 0 and budget > 0 and width:
        halves = max(1, halves)
    solid = "━" * (halves // 2) + "╸" * (halves % 2)
    held = min(width, max(len(solid), round(held_cells)))
    n_warm = min(held - len(solid), max(1, round(warm_cells)) if warm > 0 else 0)
    line = [("used", glyph) for glyph in solid]
    line += [("reserved", "╍")] * (held - len(solid) - n_warm) + [("warm", "≈")] * n_warm
    line += [("free", "─")] * (width - held)
    for at in ticks:
        if 0 <= at < width:
            line[at] = (line[at][0], _TICKED[line[at][0]])
    return joined(line)


def joined(line: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """(name, text) with neighbours of one name in one piece."""
    parts: list[tuple[str, str]] = []
    for name, text in line:
        if parts and parts[-1][0] == name:
            parts[-1] = (name, parts[-1][1] + text)
        else:
            parts.append((name, text))
    return parts
