"""What the KV cache holds, as a line of cells: a glyph and a look for each. Plain arithmetic; no widgets.

The glyph tells kind and exactness without colour: questions higher than answers, shaded what was moved or compressed
(E2), light what stands for lost text (E3), diamonds for pinned turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatkv.protocol import Kv, KvSegment

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LOOKS = {"system": "system", "summary": "summary", "user": "asked"}
_EXACT = ("E0", "E1")
_GLYPHS = {"system": "█▓░", "summary": "░░░", "asked": "█▓░", "answered": "▆▒░", "pinned": "◆◈◇"}
"""For each look: exact, E2 (small measured error), E3 (information dropped)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `look` names its colours: system, summary, asked, answered or pinned."""

    glyph: str
    look: str
    heat: float = 0.0


def cells(segments: Sequence[KvSegment], width: int) -> tuple[Cell, ...]:
    """The segments, stretched over `width` cells. Summary and pinned turns are never too small to be seen."""
    total = sum(segment.tokens for segment in segments)
    if total <= 0 or width <= 0:
        return ()
    line: list[Cell | None] = [None] * width
    rare: list[tuple[int, Cell]] = []
    start = 0
    for segment in segments:
        end = start + segment.tokens
        cell = _cell(segment)
        first, behind = _first_cell(start, total, width), _first_cell(end, total, width)
        line[first:behind] = [cell] * (behind - first)
        if first == behind and segment.tokens and cell.look in ("summary", "pinned"):
            rare.append((min(width - 1, start * width // total), cell))
        start = end
    for at, cell in rare:
        line[at] = cell
    return tuple(cell for cell in line if cell is not None)


def _first_cell(tokens: int, total: int, width: int) -> int:
    """The first cell whose middle lies at or behind so many tokens."""
    return -(-(2 * tokens * width - total) // (2 * total))


def _cell(segment: KvSegment) -> Cell:
    look = "pinned" if segment.pinned else _LOOKS.get(segment.kind, "answered")
    tier = 0 if segment.tier in _EXACT else 1 if segment.tier == "E2" else 2
    return Cell(_GLYPHS[look][tier], look, segment.heat)


def heat(line: Sequence[Cell]) -> str:
    """A column a cell, as high as the attention its turn was paid; empty if none was measured."""
    hottest = max((cell.heat for cell in line), default=0.0)
    if hottest <= 0:
        return ""
    return "".join(_EIGHTHS[min(8, round(cell.heat / hottest * 8))] for cell in line)


def legend(line: Sequence[Cell]) -> tuple[tuple[str, str, str], ...]:
    """Glyph, look and word of each thing on the line that needs one."""
    looks = {cell.look for cell in line}
    entries = []
    if looks & {"asked", "answered"}:
        entries.append(("▆", "answered", "turns"))
    if "summary" in looks:
        entries.append(("░", "summary", "summary"))
    if "pinned" in looks:
        entries.append(("◆", "pinned", "pinned"))
    if any(cell.glyph in "▓▒◈" for cell in line):
        entries.append(("▒", "answered", "near"))
    return tuple(entries)


def marks(kv: Kv, width: int) -> str:
    """A line of `width` cells with ▴ at target, soft and hard mark, named where there is room; empty without marks."""
    if not kv.limit_tokens or not kv.hard_tokens:
        return ""
    line = [" "] * width
    free = 0
    for name, tokens in sorted(
        (("target", kv.target_tokens), ("soft", kv.soft_tokens), ("hard", kv.hard_tokens)),
        key=lambda mark: mark[1],
    ):
        at = min(width - 1, max(0, tokens * width // kv.limit_tokens - 1))
        label = name if at - len(name) >= free else ""
        line[at - len(label) : at + 1] = [*label, "▴"]
        free = at + 2
    return "".join(line)
