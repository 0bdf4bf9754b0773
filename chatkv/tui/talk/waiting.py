"""What the person says: at most one turn is with the worker, later prompts wait where they can be taken back.

The ground floor of `conversation`: sends, gives back, undoes. Reads no events.
"""

from __future__ import annotations

from dataclasses import replace

from chatkv.protocol import Command, Continue, Edit, Keep, Regenerate, Send, Stop
from chatkv.tui.talk.board import Board
from chatkv.tui.talk.branches import Branches
from chatkv.tui.talk.exchange import Exchange, Front, GiveBack, Issue, Rebuild, Say, Show, Update
from chatkv.tui.talk.flight import Flight, TurnCommand
from chatkv.tui.talk.held import Held
from chatkv.tui.talk.place import Place
from chatkv.tui.talk.remembered import Remembered
from chatkv.tui.writing.slash import as_typed

_BUSY = Say("An answer is running. ⟨chat.stop⟩ stops it.", "warning")
_NOT_READY = Say("The model is not ready yet.", "warning")
_TURNING = Say("The other branch is being opened.", "warning")
WAITS = Say("This waits for the running answer.")


class Waiting:
    """The board and the turn that is on its way. Methods return updates for the screen, in order."""

    def __init__(self) -> None:
        self.board = Board()
        self.branches = Branches(self.board)
        self.memory = Remembered(self.board)
        self.place = Place()
        self.held = Held()
        self.editing: int | None = None
        """Id of the user message that the next `submit` replaces."""
        self.ready = False
        self._flight: Flight | None = None
        self._failed: int | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn is in flight."""
        return self._flight is not None

    @property
    def blocked(self) -> Say | None:
        """Why nothing that changes the conversation can be done now."""
        if self.busy or not self.ready:
            return _BUSY if self.busy else _NOT_READY
        if self.place.turning:
            return _TURNING
        if self.place.writer:
            return Say(self.place.spoken_writer, "warning")
        return Say(self.held.words, "warning") if self.held.strange else None

    def submit(self, text: str, *, head_only: bool = False) -> list[Update]:
        """Say `text`, now or when the running answer is over; in edit mode, in place of the edited message.

        `head_only`: as much of its beginning as fits. Where another window writes, the session is asked for first;
        where another model is loaded than the session's own, the person chooses first.
        """
        if self.editing is None:
            if self._must_choose:
                return [GiveBack(as_typed(text)), Front("models")]
            shown = Show(self.board.enqueue(text, head_only=head_only))
            return [shown, *(self.take_over() if self.place.writer else self._next())]
        if self.blocked:
            return [GiveBack(text), self.blocked]
        message_id, self.editing = self.editing, None
        return self._launch(Edit(message_id, text), self.board.fresh(text))

    def order(self, command: Command, typed: str) -> list[Update]:
        """Have the worker carry out `command`; `typed` goes back to the composer if it cannot."""
        if self._must_choose:
            return [GiveBack(typed), Front("models")]
        if self.blocked and not (self.busy and self.ready):
            return [GiveBack(typed), self.blocked]
        if isinstance(command, Keep):
            self.memory.keep(typed)
        return [*([WAITS] if self.busy else []), Issue(command)]

    def stop(self) -> list[Update]:
        """Stop the running answer or compaction; prompts that wait go back to the composer."""
        updates = self._give_back()
        return [*updates, Issue(Stop())] if self.busy or self.memory.compacting else updates

    def take_over(self) -> list[Update]:
        """Ask the worker for a session that another window had open. What waits is sent once it is ours."""
        return [] if self.place.expecting or not self.ready else [Issue(self.place.reopen())]

    def _next(self) -> list[Update]:
        """Send the oldest waiting prompt if nothing stands in its way."""
        if not self.board.queue:
            return []
        if self._must_choose:
            return [*self._give_back(), Front("models")]
        if self.blocked:
            return []
        waiting = self.board.queue.pop(0)
        command = Send(waiting.prompt, overlong="head" if waiting.head_only else "refuse")
        return self._launch(command, replace(waiting, state="waiting"))

    @property
    def _must_choose(self) -> bool:
        """Whether nothing but the choice of a model stands in the way of what is said."""
        return self.ready and self.held.strange and not (self.busy or self.place.turning or self.place.writer)

    def _launch(self, command: TurnCommand, exchange: Exchange) -> list[Update]:
        self._flight, self._failed = Flight(command, exchange.key, tuple(self.board.turns)), None
        self.branches.marked = None
        if isinstance(command, Edit):
            self.board.cut_at(command.message_id)
        n_turns = len(self.board.turns)
        if isinstance(command, Regenerate | Continue):
            self.board.put(exchange)
            while self.board.turns[-1].key != exchange.key:
                self.board.turns.pop()
        else:
            self.board.turns.append(exchange)
        cut = isinstance(command, Edit) or len(self.board.turns) < n_turns
        return [Rebuild() if cut else Show(exchange), Issue(command)]

    def _undo(self, flight: Flight, *, give_back: bool = True) -> list[Update]:
        """As if the turn had never been asked for; its text and what waited behind it go to the composer."""
        self._flight = None
        self.board.turns = list(flight.before)
        self.memory.remark()
        return [Rebuild(), *self._give_back(flight.text if give_back else "")]

    def _give_back(self, first: str = "") -> list[Update]:
        waiting = self.board.empty_queue()
        texts = [text for text in (first, *waiting) if text]
        view: list[Update] = [Rebuild()] if waiting else []
        return [*view, GiveBack(as_typed("\n\n".join(texts)))] if texts else view
