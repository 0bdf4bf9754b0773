"""Blocks of Markdown one below the other, as lines of one width. Knows neither widgets nor how a block is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

from textual.strip import Strip

from chatkv.tui.prose.blocks import Block

Draw = Callable[[Block, int], list[Strip]]
"""Lines of a block at a width."""


class Sheet:
    """Finished blocks are drawn once, open ones when they change, so that a token costs the same however long the
    answer is."""

    def __init__(self) -> None:
        self.lines: list[Strip] = []
        self._finished: list[Block] = []
        self._open: tuple[Block, ...] = ()
        self._width = 0
        self._n_drawn = self._n_firm = 0
        """How many of the finished blocks are among the lines, and how many lines they are."""
        self._kept: dict[Block, list[Strip]] = {}
        """The open blocks as they were last drawn."""

    def put(self, finished: Iterable[Block], still_open: Iterable[Block]) -> None:
        """These blocks were finished since the last time; those are the open ones now."""
        self._finished += finished
        self._open = tuple(still_open)

    def forget(self) -> None:
        """What is drawn must be drawn anew."""
        self._width = 0

    def lay(self, width: int, draw: Draw) -> Sequence[int]:
        """Bring the lines up to date at this width. Indices of those that differ from before."""
        if width != self._width:
            self._width, self._n_drawn, self._n_firm, self._kept = width, 0, 0, {}
        first = self._n_firm
        before, self.lines[first:] = self.lines[first:], []
        for block in self._finished[self._n_drawn :]:
            self._add(block, self._kept.get(block) or draw(block, width))
        self._n_drawn, self._n_firm = len(self._finished), len(self.lines)
        self._kept = {block: self._kept.get(block) or draw(block, width) for block in self._open}
        for block, lines in self._kept.items():
            self._add(block, lines)
        pairs = zip_longest(before, self.lines[first:])
        return [first + n for n, (old, new) in enumerate(pairs) if old is not new and old != new]

    def _add(self, block: Block, lines: Sequence[Strip]) -> None:
        """With a gap above it, unless it goes on from the block before."""
        if lines and not block.joined:
            self.lines.append(_GAP)
        self.lines += lines


_GAP = Strip([], 0)
