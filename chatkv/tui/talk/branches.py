"""Where a conversation forks: which turn is marked, and which wording or answer stands beside the one on screen.

Plain Python over the board; knows neither the worker nor the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from chatkv.protocol import Marks
from chatkv.tui.talk.board import Board
from chatkv.tui.talk.exchange import Exchange

Side = Literal["asked", "answered"]
"""What stands beside: wordings of a question, or answers to one wording."""

_NAMES: dict[Side, str] = {"asked": "wording of this question", "answered": "answer to this question"}


class Branches:
    """The marked turn of a board, and the ways from it."""

    def __init__(self, board: Board) -> None:
        self.marked: int | None = None
        """Key of the marked turn; None while none is."""
        self._board = board

    @property
    def turn(self) -> Exchange | None:
        """The marked turn, else the newest one."""
        return self._at_mark() or self._board.last

    def step(self, steps: int) -> int | None:
        """Mark the turn so many below (above, if negative), the newest first of all; past it, none is marked."""
        turns = self._board.turns
        keys = [turn.key for turn in turns]
        at = keys.index(self.marked) if self.marked in keys else len(turns)
        at = max(0, at + steps)
        self.marked = turns[at].key if at < len(turns) else None
        return self.marked

    def subject(self, side: Side) -> Exchange | None:
        """The turn whose alternatives are meant: the marked one, else the newest that has any."""
        if (marked := self._at_mark()) is not None:
            return marked
        return next((turn for turn in reversed(self._board.turns) if getattr(turn, side)), None)

    def beside(self, side: Side, steps: int, turn: Exchange | None) -> int | str:
        """Message id of the alternative so many after (before, if negative) that of `turn`, or why there is none."""
        ids: tuple[int, ...] = getattr(turn, side) if turn is not None else ()
        here = shown_id(turn, side) if turn is not None else None
        if here not in ids:
            return f"There is no other {_NAMES[side]}."
        at = ids.index(here) + steps
        if not 0 <= at < len(ids):
            return f"This is the {'first' if at < 0 else 'last'} {_NAMES[side]}."
        return ids[at]

    def learn(self, groups: Mapping[int, Sequence[int]]) -> bool:
        """Write what the store knows (see `with_alternatives`) on the board; True if something is new."""
        before = list(self._board.turns)
        self._board.turns = with_alternatives(before, groups)
        return before != self._board.turns

    def hear(self, marks: Marks) -> None:
        """Write what the worker says on the board."""
        by_user = {mark.user_id: mark for mark in marks.turns}
        for n, turn in enumerate(self._board.turns):
            mark = by_user.get(turn.user_id) if turn.user_id is not None else None
            if mark is not None and (turn.asked, turn.answered) != (mark.asked, mark.answered):
                self._board.turns[n] = replace(turn, asked=mark.asked, answered=mark.answered)

    def _at_mark(self) -> Exchange | None:
        return next((turn for turn in self._board.turns if turn.key == self.marked), None)


def with_alternatives(turns: Iterable[Exchange], groups: Mapping[int, Sequence[int]]) -> list[Exchange]:
    """The turns of one branch with what stands beside them. `groups`: children by parent id (0 = the beginning),
    where there is more than one."""
    parent, marked = 0, []
    for turn in turns:
        asked: tuple[int, ...] = ()
        answered: tuple[int, ...] = ()
        if turn.user_id is not None:
            asked = tuple(groups.get(parent, ()))
            answered = tuple(groups.get(turn.user_id, ()))
        same = (asked, answered) == (turn.asked, turn.answered)
        marked.append(turn if same else replace(turn, asked=asked, answered=answered))
        parent = turn.answer_id or turn.user_id or parent
    return marked


def shown_id(turn: Exchange, side: Side) -> int | None:
    """Message id of what is on screen."""
    return turn.user_id if side == "asked" else turn.answer_id


def position(turn: Exchange, side: Side) -> str:
    """`‹ 2/3 ›`; empty where nothing stands beside it."""
    ids: tuple[int, ...] = getattr(turn, side)
    here = shown_id(turn, side)
    if len(ids) < 2 or here not in ids:
        return ""
    return f"‹ {ids.index(here) + 1}/{len(ids)} ›"
