"""What the conversation on screen remembers beyond its turns' texts: marks, the summary, what was recalled and kept.

Plain Python: protocol events go in, updates for the screen come out. Writes marks and recollections on the board.
"""

from __future__ import annotations

from dataclasses import replace

from chatkv.protocol import Compaction, Error, Event, Kept, Marks, Recalled, Summarized
from chatkv.tui.talk.board import Board
from chatkv.tui.talk.exchange import RUNNING, Found, Recollection, Remark, Show, Summed, Update
from chatkv.tui.talk.telling import divider, recollection


class Remembered:
    """The memory of one conversation at a time, as far as the worker has told of it."""

    def __init__(self, board: Board) -> None:
        self.summary = Summarized("")
        self.compacting = False
        """Whether a compaction that was asked for is running."""
        self._board = board
        self._marks = Marks()
        self._found: Recollection | None = None
        self._keeping: list[str] = []

    def forget(self) -> list[Update]:
        """Another conversation is on screen."""
        self.summary, self._marks = Summarized(""), Marks()
        return self.on_death()

    def on_death(self) -> list[Update]:
        """The worker that was about to do something is gone, or has left this conversation."""
        self.compacting = False
        return self._let_go()

    def on_accepted(self) -> list[Update]:
        """A turn began: what was found by hand goes along with it."""
        turn, found = self._board.last, self._found
        if turn is not None and found is not None:
            self._board.put(replace(turn, recalled=found))
        return self._let_go()

    def keep(self, typed: str) -> None:
        """A text is on its way into the archive; `typed` is what comes back if it never gets there."""
        self._keeping.append(typed)

    def not_kept(self, n_texts: int | None = None) -> list[str]:
        """The oldest `n_texts` (all, if None) of those on their way did not get there: what was typed for them."""
        texts, self._keeping = self._keeping[:n_texts], self._keeping[len(self._keeping[:n_texts]) :]
        return texts

    def remark(self) -> None:
        """Write the marks on the board as it is now."""
        where = divider(self._marks)
        by_user = {mark.user_id: mark for mark in self._marks.turns}
        for n, turn in enumerate(self._board.turns):
            known = by_user.get(turn.user_id) if turn.user_id is not None else None
            words = where[1] if where and where[0] == turn.user_id else ""
            number, mark = (known.turn, known.mark) if known else (turn.turn, turn.mark)
            if (turn.turn, turn.mark, turn.divider) != (number, mark, words):
                self._board.turns[n] = replace(turn, turn=number, mark=mark, divider=words)

    def on_event(self, event: Event) -> list[Update]:
        """Take one event in."""
        match event:
            case Marks():
                self._marks = event
                self.remark()
                return [Remark()]
            case Summarized():
                self.summary = event
                return [Summed(event)]
            case Compaction(stage=stage, reason=reason):
                self.compacting = reason == "asked" and stage in ("summarizing", "rebuilding")
            case Error(command="compact"):
                self.compacting = False
            case Recalled(rounds=rounds) if rounds:
                return self._on_recalled(event)
            case Kept():
                del self._keeping[:1]
        return []

    def _on_recalled(self, event: Recalled) -> list[Update]:
        found, turn = recollection(event), self._board.last
        if turn is not None and turn.state in RUNNING and (turn.turn == event.turn or not event.by_hand):
            return [*self._let_go(), Show(self._board.put(replace(turn, recalled=found)))]
        if not event.by_hand:
            return []
        self._found = found
        return [Found(found)]

    def _let_go(self) -> list[Update]:
        found, self._found = self._found, None
        return [Found(None)] if found else []
