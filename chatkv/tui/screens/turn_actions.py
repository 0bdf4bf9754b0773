"""What the keys of the main screen do with one turn: mark it, edit it, fork there, show another answer to it."""

from __future__ import annotations

from textual.screen import Screen

from chatkv.tui.branches import Side
from chatkv.tui.desk import Desk
from chatkv.tui.widgets.composer import Composer
from chatkv.tui.widgets.transcript import Transcript


class TurnActions(Screen[None]):
    """The part of the main screen that is about turns."""

    _desk: Desk
    _transcript: Transcript
    _composer: Composer

    def action_regenerate(self) -> None:
        """Answer the last message again."""
        self._desk.do(self._desk.conversation.regenerate())

    def action_extend(self) -> None:
        """Continue the last answer."""
        self._desk.do(self._desk.conversation.extend())

    def action_edit(self) -> None:
        """Load the marked turn's message, or the last one, into the composer."""
        text = self._desk.conversation.edit()
        if text is not None:
            self._composer.put(text)
            self._composer.focus()
        elif self._desk.conversation.blocked:
            self._desk.do([self._desk.conversation.blocked])
        self._mark_state()

    def action_fork(self) -> None:
        """Let the conversation end with the marked turn."""
        self._desk.do(self._desk.conversation.fork())

    def action_mark_above(self) -> None:
        """Mark the turn above."""
        self._step(-1)

    def action_mark_below(self) -> None:
        """Mark the turn below."""
        self._step(1)

    def action_wording_before(self) -> None:
        """Show the wording before."""
        self._switch("asked", -1)

    def action_wording_after(self) -> None:
        """Show the wording after."""
        self._switch("asked", 1)

    def action_answer_before(self) -> None:
        """Show the answer before."""
        self._switch("answered", -1)

    def action_answer_after(self) -> None:
        """Show the answer after."""
        self._switch("answered", 1)

    def action_copy_answer(self) -> None:
        """Copy the last answer, or the marked one."""
        answer = self._desk.conversation.last_answer
        self.app.copy_to_clipboard(answer)
        self.notify(f"Copied {len(answer):,} characters.", timeout=2)

    def _switch(self, side: Side, steps: int) -> None:
        self._desk.do(self._desk.conversation.switch(side, steps))

    def _step(self, steps: int) -> None:
        conversation = self._desk.conversation
        self._transcript.mark(conversation.branches.step(steps), conversation.board.exchanges)
        self._mark_state()

    def _unmark(self) -> None:
        """No turn is marked any more; the view stays."""
        self._desk.conversation.branches.marked = None
        self._mark_state()

    def _mode(self) -> str:
        """What Enter does just now, if not the usual."""
        conversation = self._desk.conversation
        if conversation.editing is not None:
            last = conversation.board.last
            if last is None or last.user_id == conversation.editing:
                return "editing your last message · Esc leaves it"
            turn = next(
                (turn for turn in conversation.board.turns if turn.user_id == conversation.editing), None
            )
            return f"editing turn {turn.turn if turn else ''} · Esc leaves it"
        if conversation.place.writer_left:
            return "read only · Enter takes the session over"
        if conversation.place.writer:
            return "read only · drafts stay here"
        return "read only · Enter chooses a model" if conversation.held.strange else ""

    def _mark_state(self) -> None:
        raise NotImplementedError
