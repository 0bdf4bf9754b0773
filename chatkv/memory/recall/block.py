"""Relevant rows → the block of text that fits the budget: best first in, in the order of the conversation out.

Knows nothing of scoring or of the prompt around the block.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from chatkv.memory.recall.dates import MONTHS
from chatkv.memory.recall.index import Index, Row
from chatkv.memory.recall.records import NOTHING, Found, Stretch

_HEADER = "Earlier in this conversation:"
_DOCUMENTS_HEADER = "From earlier in this conversation and its documents:"
_GAP = "…"
_DAY = re.compile(r"\[\d{1,2} [A-Z][a-z]+ \d{4}\]")
_MAX_MISSES = 8
_MIN_ROOM = 8
BRIEF_TOKENS = 400
"""With less room than this, what a user asked for in the same breath as stating something is left out."""


class Block:
    """A block under construction. `count` counts the whole, `cost` its lines one by one."""

    def __init__(
        self, index: Index, budget: int, count: Callable[[str], int], cost: Callable[[str], int]
    ) -> None:
        self._index = index
        self._budget = budget
        self._count = count
        self._cost = cost
        self._taken: dict[int, None] = {}
        self._marks: set[str] = set()
        self._brief = budget < BRIEF_TOKENS
        self._dated = _is_dated(index)
        self.used = count(_HEADER) + 1
        self._misses = 0
        self._settled: Found | None = None

    def __contains__(self, position: int) -> bool:
        return position in self._taken

    def add(self, position: int) -> bool:
        """Take the row at `position` if there is room for it."""
        if position in self._taken:
            return True
        if self._misses >= _MAX_MISSES or self._budget - self.used < _MIN_ROOM:
            return False
        row = self._index.rows[position]
        mark = self._mark(row)
        cost = self._cost(self._line(row).strip() + "\n") + self._gap(position)
        if mark and mark not in self._marks:
            cost += self._cost(mark + "\n")
        if self.used + cost > self._budget:
            self._misses += 1
            return False
        self._misses = 0
        self.used += cost
        self._settled = None
        self._taken[position] = None
        self._marks.add(mark)
        return True

    def settle(self) -> Found:
        """The block so far, counted exactly: lines take fewer tokens together than one by one.

        Where they take more, what was taken last goes again.
        """
        self._misses = 0
        while self._taken and self._settled is None:
            found = self._found(sorted(self._taken))
            self.used = found.tokens
            if found.tokens <= self._budget:
                self._settled = found
            else:
                self._taken.popitem()
        return self._settled or NOTHING

    def _gap(self, position: int) -> int:
        return 0 if position - 1 in self._taken or position + 1 in self._taken else 2

    def _found(self, positions: Sequence[int]) -> Found:
        rows = self._index.rows
        runs = self._runs(positions)
        has_document = any(rows[run[0]].passage.role == "document" for run in runs)
        lines = [_DOCUMENTS_HEADER if has_document else _HEADER]
        stretches = []
        mark = ""
        for run in runs:
            previous, mark = mark, self._mark(rows[run[0]])
            lines += (
                [_after(mark, previous)] if mark not in ("", previous) else [_GAP] if len(lines) > 1 else []
            )
            stretches.append(self._stretch(run))
            lines.append(stretches[-1].text)
        text = "\n".join(lines)
        return Found(text, self._count(text), tuple(stretches))

    def _runs(self, positions: Sequence[int]) -> list[list[int]]:
        """Ascending `positions` cut where one is left out, a document begins or ends, or another day begins."""
        rows, runs = self._index.rows, [[positions[0]]]
        for before, position in pairwise(positions):
            follows = position == before + 1 and self._mark(rows[position]) == self._mark(rows[before])
            if follows:
                runs[-1].append(position)
            else:
                runs.append([position])
        return runs

    def _stretch(self, run: Sequence[int]) -> Stretch:
        rows = [self._index.rows[position] for position in run]
        lines = [self._line(rows[0])]
        for before, row in pairwise(rows):
            if row.passage.key == before.passage.key and not self._is_brief(row):
                lines[-1] += row.text
            else:
                lines.append(self._line(row))
        first, last = rows[0].passage, rows[-1].passage
        keys = tuple(dict.fromkeys(row.passage.key for row in rows))
        text = "\n".join(line.strip() for line in lines)
        return Stretch(first.turn, last.turn, text, first.name if first.role == "document" else "", keys)

    def _line(self, row: Row) -> str:
        """The text of a row after who said it, unless that stands in the text."""
        role = row.passage.role
        label = "" if row.label in self._index.speakers or role == "document" else role
        text = (row.stated if self._is_brief(row) else row.text).lstrip()
        text = text if row.number == 0 else f"{_GAP} {text}"
        return f"{label.capitalize()}: {text}" if label else text

    def _is_brief(self, row: Row) -> bool:
        """Whether only what the row states is put in."""
        named = row.label in self._index.speakers
        return self._brief and row.passage.role == "user" and bool(row.stated) and not named

    def _mark(self, row: Row) -> str:
        """What stands above a stretch: the document's name, else the day, unless all was said on one."""
        if row.passage.role == "document":
            return f"[{row.passage.name}]"
        if not row.passage.created_at or not self._dated:
            return ""
        day = dt.datetime.fromtimestamp(row.passage.created_at)
        return f"[{day.day} {MONTHS[day.month - 1]} {day.year}]"


def _is_dated(index: Index) -> bool:
    """Whether the archive spans more than one day."""
    known = index.times[index.times > 0]
    if not len(known):
        return False
    first, last = (dt.datetime.fromtimestamp(float(moment)).date() for moment in (known.min(), known.max()))
    return first != last


def _after(mark: str, previous: str) -> str:
    """A day without its year if the day before it was in the same one."""
    year = mark.rpartition(" ")[2]
    return f"{mark.removesuffix(f' {year}')}]" if _DAY.match(mark) and previous.endswith(f" {year}") else mark
