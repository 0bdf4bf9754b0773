"""Which statements go into the room there is: the most new names, numbers, dates and wishes a token, as a set.

Greedy by gain over cost with lazy re-evaluation (Minoux 1978; for summaries Lin and Bilmes 2011): what a chosen line
holds already counts no more. Knows nothing of how the lines are written out.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from chatkv.memory.summary.extract import Statement
from chatkv.memory.summary.text import Key

_LEAST = 1.2  # what a statement must add to be worth its line
_KNOWN_WELL = 3  # lines with a name; one more says nothing new by the name alone
_SAME = 1e-9


class Choice:
    """The statements chosen so far, in the order of choice, and what they hold. `cost`: tokens a text takes."""

    def __init__(self, statements: Sequence[Statement], cost: Callable[[str], int], room: int) -> None:
        self.room = room
        self.picked: list[Statement] = []
        self._all = {statement.place: statement for statement in statements}
        self._cost = lru_cache(maxsize=None)(cost)
        self._lines: dict[Key, list[frozenset[str]]] = defaultdict(list)
        self._stems: set[str] = set()
        self._places: set[int] = set()

    def hold(self, statement: Statement) -> None:
        """Count what `statement` says as held; it takes no room."""
        for key in statement.live:
            self._lines[key].append(statement.stems)
        self._stems |= statement.stems
        self._places.add(statement.place)

    def take(self, statement: Statement, *, leave: int = 0) -> bool:
        """Choose `statement` and those it must not stand without, if they fit and `leave` tokens stay free."""
        group = self._group(statement)
        cost = sum(self._cost(one.text) for one in group)
        if not group or cost > self.room - leave:
            return False
        self.room -= cost
        for one in group:
            self.hold(one)
            self.picked.append(one)
        return True

    def fill(self, candidates: Iterable[Statement], *, leave: int = 0) -> bool:
        """Choose from `candidates` while there is room, of which `leave` tokens stay free, and something to gain.

        Returns whether all went in that was worth it.
        """
        all_in = True
        heap = [(-self._rate(one), one.place) for one in candidates if one.place not in self._places]
        heapq.heapify(heap)
        while heap:
            rate, place = heapq.heappop(heap)
            now = -self._rate(self._all[place])
            if now < 0 and now > rate + _SAME:
                heapq.heappush(heap, (now, place))
            elif now < 0 and not self.take(self._all[place], leave=leave):
                all_in = False
        return all_in

    def gain(self, statement: Statement) -> float:
        """What `statement` would add to what is held."""
        new = sum(mark.weight for key, mark in statement.live.items() if not self._held(key, statement))
        fresh = len(statement.stems - self._stems) / max(1, len(statement.stems))
        return new + statement.worth * fresh

    def _held(self, key: Key, statement: Statement) -> bool:
        """A number or name said of something else is no repetition; one that is rare enough is."""
        lines = self._lines.get(key, ())
        return len(lines) >= _KNOWN_WELL or any(
            not statement.stems or statement.stems & stems for stems in lines
        )

    def _rate(self, statement: Statement) -> float:
        group = self._group(statement)
        gain = sum(map(self.gain, group))
        return gain / (sum(self._cost(one.text) for one in group) + 1) if gain >= _LEAST else 0.0

    def _group(self, statement: Statement) -> list[Statement]:
        """`statement` and all that it needs, directly or not, as far as not chosen yet; itself last."""
        group: list[Statement] = []
        todo = [statement.place]
        while todo:
            place = todo.pop()
            if place in self._places or place not in self._all or any(one.place == place for one in group):
                continue
            group.append(self._all[place])
            todo.extend(self._all[place].needs)
        return group[::-1]
