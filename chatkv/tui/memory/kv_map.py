"""What the KV cache holds, as a line of cells: a glyph and a look for each. Plain arithmetic; no widgets.

The glyph tells kind and exactness without colour: questions higher than answers, shaded what was moved or compressed
(E2), light what stands for lost text (E3), diamonds for pinned turns, lines for recalled text, dots for free room.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from chatkv.protocol import Kv, KvSegment
from chatkv.tui import units

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LOOKS = {"system": "system", "summary": "summary", "user": "asked", "draft": "draft", "new": "new"}
_EXACT = ("E0", "E1")
_GLYPHS = {
    "system": "█▓░",
    "summary": "░░░",
    "asked": "█▓░",
    "answered": "▆▒░",
    "pinned": "◆◈◇",
    "recalled": "▤▤▤",
    "draft": "▱▱▱",
    "new": "▃▃▃",
}
"""For each look: exact, E2 (small measured error), E3 (information dropped)."""
_NEVER_HIDDEN = ("summary", "pinned", "recalled", "draft")
_TIERS = {
    "E0": "E0, the same bytes as when it was computed",
    "E1": "E1, the same maths in another order",
    "E2": "E2, moved or compressed: a small measured error",
    "E3": "E3, stands for text that is not here any more",
}
_KINDS = {
    "user": "question",
    "wrapper": "turn",
    "new": "being read or written",
    "draft": "your draft, read ahead",
}
_WORDS = (
    ("▆", "answered", "turns"),
    ("░", "summary", "summary"),
    ("◆", "pinned", "pinned"),
    ("▤", "recalled", "recalled"),
    ("▱", "draft", "draft"),
    ("▃", "new", "new"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `look` names its colours: system, summary, asked, answered, pinned, recalled, draft, new or free."""

    glyph: str
    look: str
    heat: float = 0.0


FREE = Cell("·", "free")
NEW = Cell(_GLYPHS["new"][0], "new")


class Layout:
    """Segments in their order, and where each begins. `recalled`: tokens at the head of a turn's question that came out
    of the archive."""

    def __init__(self, segments: Iterable[KvSegment], recalled: Mapping[int, int] | None = None) -> None:
        runs = [run for segment in segments for run in _parted(segment, recalled or {}) if run.tokens > 0]
        if runs and runs[0].kind == "wrapper":  # what the template says of itself, and how it begins
            runs[0] = replace(runs[0], kind="system", turn=0)
        self.runs: Sequence[KvSegment] = runs
        self._starts = list(accumulate((run.tokens for run in runs), initial=0))
        self.tokens = self._starts.pop()

    def cells(self, width: int, total: int = 0) -> tuple[Cell, ...]:
        """A line of `width` cells for `total` tokens (at least those held); what is behind the held ones is free.

        Summary, pinned and recalled text is never too small to be seen.
        """
        total = max(total, self.tokens)
        if total <= 0 or width <= 0:
            return ()
        line = [self._cell(n, width, total) for n in range(width)]
        for run, start in zip(self.runs, self._starts, strict=True):
            if look_of(run) in _NEVER_HIDDEN:
                line[(2 * start + run.tokens) * width // (2 * total)] = _drawn(run)
        return tuple(line)

    def within(self, at: int, width: int, total: int = 0) -> Sequence[KvSegment]:
        """The segments below cell `at` of such a line; none where it is free."""
        total = max(total, self.tokens)
        first = at * total // width
        last = min(self.tokens - 1, max(first, (at + 1) * total // width - 1))
        return self.runs[max(0, self._find(first)) : self._find(last) + 1] if first < self.tokens else ()

    def _cell(self, n: int, width: int, total: int) -> Cell:
        middle = (2 * n + 1) * total // (2 * width)
        if middle >= self.tokens:
            return FREE
        run, below = self.runs[self._find(middle)], self.within(n, width, total)
        turns = [other for other in below if look_of(other) in ("asked", "answered")]
        if look_of(run) not in ("asked", "answered") or len({other.turn for other in turns}) < 2:
            return _drawn(run)
        worst = max(turns, key=lambda other: other.tier)
        look = look_of(run) if len(turns) < 4 else "answered"
        return Cell(_GLYPHS[look][_shade(worst.tier)], look, max(other.heat for other in turns))

    def _find(self, token: int) -> int:
        return bisect_right(self._starts, token) - 1


def grown(line: Sequence[Cell], tokens: int, n_new: int, total: int) -> tuple[Cell, ...]:
    """The line of `tokens` held ones with `n_new` that this turn has read or written behind them."""
    width = len(line)
    if n_new <= 0 or not width:
        return tuple(line)
    first = -(-(2 * tokens * width - total) // (2 * total))
    behind = -(-(2 * (tokens + n_new) * width - total) // (2 * total))
    first = min(max(0, first), width - 1)
    behind = min(width, max(first + 1, behind))
    return (*line[:first], *[NEW] * (behind - first), *line[behind:])


def _parted(segment: KvSegment, recalled: Mapping[int, int]) -> tuple[KvSegment, ...]:
    """The recalled text at the head of a question apart from the question."""
    found = min(segment.tokens, recalled.get(segment.turn, 0)) if segment.kind == "user" else 0
    if not found or segment.pinned:
        return (segment,)
    rest = (segment.tier, segment.heat)
    return (
        KvSegment("recalled", segment.turn, found, *rest),
        KvSegment("user", segment.turn, segment.tokens - found, *rest),
    )


def look_of(segment: KvSegment) -> str:
    """The name of its colours."""
    if segment.pinned:
        return "pinned"
    return "recalled" if segment.kind == "recalled" else _LOOKS.get(segment.kind, "answered")


def _shade(tier: str) -> int:
    return 0 if tier in _EXACT else 1 if tier == "E2" else 2


def _drawn(segment: KvSegment) -> Cell:
    look = look_of(segment)
    return Cell(_GLYPHS[look][_shade(segment.tier)], look, segment.heat)


def heat(line: Sequence[Cell]) -> str:
    """A column a cell, as high as the attention its turn was paid; empty if none was measured."""
    hottest = max((cell.heat for cell in line), default=0.0)
    if hottest <= 0:
        return ""
    return "".join(_EIGHTHS[min(8, round(cell.heat / hottest * 8))] for cell in line)


def legend(line: Sequence[Cell], width: int) -> tuple[tuple[str, str, str], ...]:
    """Glyph, look and word of each thing on the line that needs one, as far as `width` cells have room."""
    looks = {"answered" if cell.look == "asked" else cell.look for cell in line}
    entries = [entry for entry in _WORDS if entry[1] in looks]
    if any(cell.glyph in "▓▒◈" for cell in line):
        entries.append(("▒", "answered", "near"))
    ends = accumulate(len(f"{glyph} {word}  ") for glyph, _, word in entries)
    return tuple(entry for entry, end in zip(entries, ends, strict=True) if end - 2 <= width)


def spoken(below: Sequence[KvSegment]) -> str:
    """What lies there, in words: which turns, how many tokens, how exact."""
    if not below:
        return "Room that is held for the next tokens."
    turns = sorted({run.turn for run in below if run.turn})
    tokens = units.plural(sum(run.tokens for run in below), "token")
    if len(turns) > 1:
        what = f"Turns {turns[0]}–{turns[-1]}"
    else:
        kinds = list(dict.fromkeys(_KINDS.get(run.kind, run.kind) for run in below))
        what = " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
        what = f"Turn {turns[0]}: {what}" if turns else what[:1].upper() + what[1:]
    pinned = ["pinned"] if any(run.pinned for run in below) else []
    tier = max(run.tier for run in below)
    warmest = max(run.heat for run in below)
    paid = [f"paid {100 * warmest:.0f} % of recent attention"] if warmest > 0 else []
    return "\n".join([" · ".join([what, tokens, *pinned]), _TIERS.get(tier, tier), *paid])


def marks(kv: Kv, width: int) -> str:
    """A line of `width` cells with target, soft and hard mark, named where there is room; empty without marks.

    ▴ for a mark that is passed, ▵ for one that is not.
    """
    line = [" "] * width
    free = 0
    for name, tokens, at in places(kv, width):
        label = name if at - len(name) >= free else ""
        line[at - len(label) : at + 1] = [*label, "▴" if kv.tokens >= tokens else "▵"]
        free = at + 2
    return "".join(line) if kv.hard_tokens and kv.limit_tokens else ""


def places(kv: Kv, width: int) -> list[tuple[str, int, int]]:
    """Name, tokens and cell of each mark on a line of `width` cells, from the left; none without marks."""
    if not kv.limit_tokens or not kv.hard_tokens:
        return []
    named = (("target", kv.target_tokens), ("soft", kv.soft_tokens), ("hard", kv.hard_tokens))
    return [
        (name, tokens, min(width - 1, max(0, tokens * width // kv.limit_tokens - 1)))
        for name, tokens in sorted(named, key=lambda mark: mark[1])
    ]
