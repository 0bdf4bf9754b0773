"""One-line bars as text: how far something is; how much of a budget is used, reserved, free. No widgets."""

from __future__ import annotations


def progress(done: float, total: float, width: int) -> tuple[str, str]:
    """The drawn and the empty part of a line of `width` cells."""
    share = min(1.0, max(0.0, done / total)) if total > 0 else 0.0
    filled = int(share * width + 1e-9)
    return "━" * filled, "─" * (width - filled)


def memory(used: float, reserved: float, budget: float, width: int) -> tuple[str, str, str]:
    """Used (to half a cell, and never invisible), reserved but unused, and free parts of a line of `width` cells."""
    if budget <= 0 or width <= 0:
        return "", "", "─" * max(0, width)
    halves = round(min(1.0, used / budget) * width * 2)
    if used > 0:
        halves = max(1, halves)
    solid = "━" * (halves // 2) + "╸" * (halves % 2)
    held = min(width, max(len(solid), round(min(1.0, reserved / budget) * width)))
    return solid, "╍" * (held - len(solid)), "─" * (width - held)
