"""A one-line bar: used, reserved, and what is left of a budget; and a plain progress bar. Text, no timers."""

from __future__ import annotations

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def progress(done: float, total: float, width: int) -> tuple[str, str]:
    """The drawn and the empty part of a line of `width` cells."""
    share = min(1.0, max(0.0, done / total)) if total > 0 else 0.0
    filled = int(share * width + 1e-9)
    return "━" * filled, "─" * (width - filled)


def memory(used: float, reserved: float, budget: float, width: int) -> tuple[str, str, str]:
    """Used (to an eighth of a cell), reserved but unused, and free parts of a line of `width` cells."""
    if budget <= 0 or width <= 0:
        return "", "", "░" * max(0, width)
    eighths = round(min(1.0, used / budget) * width * 8)
    if used > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    solid = "█" * full + (_EIGHTHS[rest] if rest else "")
    held = min(width, max(len(solid), round(min(1.0, reserved / budget) * width)))
    return solid, "▒" * (held - len(solid)), "░" * (width - held)
