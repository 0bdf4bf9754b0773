"""The turns on screen in their order, and the prompts that wait behind them.

Plain data structure: knows nothing of the worker, and decides nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

from chatkv.tui.talk.exchange import Exchange


class Board:
    """Turns and waiting prompts; keys are given out here and never twice."""

    def __init__(self) -> None:
        self.turns: list[Exchange] = []
        self.queue: list[Exchange] = []
        self._keys = itertools.count(1)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All turns, oldest first, prompts that wait last."""
        return (*self.turns, *self.queue)

    @property
    def last(self) -> Exchange | None:
        """The newest turn, waiting prompts apart."""
        return self.turns[-1] if self.turns else None

    @property
    def last_turn(self) -> int:
        """Number of the newest turn that the worker has taken; 0 while there is none."""
        return max((turn.turn for turn in self.turns), default=0)

    def get(self, key: int) -> Exchange | None:
        """The turn or waiting prompt with this key."""
        return next((exchange for exchange in reversed(self.exchanges) if exchange.key == key), None)

    def fresh(self, prompt: str) -> Exchange:
        """A new turn about `prompt`, not yet on the board."""
        return Exchange(next(self._keys), prompt, state="waiting")

    def enqueue(self, prompt: str, *, head_only: bool = False) -> Exchange:
        """Let `prompt` wait at the end of the line."""
        self.queue.append(replace(self.fresh(prompt), state="queued", head_only=head_only))
        return self.queue[-1]

    def empty_queue(self) -> list[str]:
        """Take all waiting prompts off the board, oldest first."""
        prompts = [waiting.prompt for waiting in self.queue]
        self.queue = []
        return prompts

    def load(self, turns: Iterable[Exchange]) -> None:
        """Show these turns instead; they get keys of this board."""
        self.turns = [replace(turn, key=next(self._keys)) for turn in turns]

    def reload(self, turns: Iterable[Exchange]) -> None:
        """Show these turns of the same conversation: a question that was there keeps its key, and an answer that was
        there what is only known here."""
        before = {turn.user_id: turn for turn in self.turns if turn.user_id is not None}
        self.turns = [self._known(turn, before.get(turn.user_id or 0)) for turn in turns]

    def _known(self, turn: Exchange, was: Exchange | None) -> Exchange:
        if was is None:
            return replace(turn, key=next(self._keys))
        kept = replace(turn, key=was.key, turn=was.turn, mark=was.mark, divider=was.divider)
        same = was.answer_id == turn.answer_id and was.answer == turn.answer
        return replace(kept, state=was.state, note=was.note) if same and was.note else kept

    def put(self, exchange: Exchange) -> Exchange:
        """Replace the turn with the same key by this newer state of it."""
        for n in range(len(self.turns) - 1, -1, -1):
            if self.turns[n].key == exchange.key:
                self.turns[n] = exchange
                return exchange
        raise AssertionError(f"no turn {exchange.key}")

    def grow(self, text: str, *, thought: bool) -> None:
        """Add to the answer of the newest turn, or to the thought before it."""
        turn = self.turns[-1]
        name = "thought" if thought else "answer"
        self.turns[-1] = replace(turn, **{name: getattr(turn, name) + text}, state="streaming")

    def cut_at(self, user_id: int) -> None:
        """Drop the turn of this user message and all that follow."""
        for n, turn in enumerate(self.turns):
            if turn.user_id == user_id:
                del self.turns[n:]
                return
