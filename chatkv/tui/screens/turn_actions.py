"""What keys and clicks do with one turn: mark it, edit it, fork there, show another answer to it.

About the marked turn; where none is marked, about the last one.
"""

from __future__ import annotations

from dataclasses import replace

from textual import on
from textual.binding import ActiveBinding
from textual.screen import Screen

from chatkv.tui.behind.desk import Desk
from chatkv.tui.messages import TurnClicked
from chatkv.tui.talk.branches import Side
from chatkv.tui.widgets.talk.transcript import Transcript
from chatkv.tui.widgets.talk.turn_focus import TurnFocus
from chatkv.tui.widgets.writing.composer import Composer

_CODE_SIGNS = ("```", "~~~", "\n    ", "\n\t")
"""An answer without any of these has no piece of code."""


class TurnActions(Screen[None]):
    """The part of the main screen that is about turns."""

    _desk: Desk
    _transcript: Transcript
    _composer: Composer

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The keys in force. That which stops is called so only where it would stop something."""
        found = super().active_bindings
        if not self._would_leave:
            return found
        return {
            key: _back(active) if active.binding.id == "chat.stop" else active
            for key, active in found.items()
        }

    @property
    def _would_leave(self) -> bool:
        """Whether the key that stops leaves edit mode or the marked turn."""
        conversation = self._desk.conversation
        marked = conversation.branches.marked is not None and not conversation.busy
        return conversation.editing is not None or marked or isinstance(self.focused, TurnFocus)

    def action_regenerate(self) -> None:
        """Answer the question again."""
        self._desk.do(self._desk.conversation.regenerate())

    def action_extend(self) -> None:
        """Continue the last answer."""
        self._desk.do(self._desk.conversation.extend())

    def action_edit(self) -> None:
        """Load the marked turn's message, or the last one, into the composer."""
        text = self._desk.conversation.edit()
        if text is not None:
            self._composer.begin_edit(text)
            self._composer.focus()
        elif self._desk.conversation.blocked:
            self._desk.do([self._desk.conversation.blocked])
        self._mark_state()

    def action_pin(self) -> None:
        """Pin the turn, or unpin it."""
        self._desk.do(self._desk.conversation.pin())

    def action_thoughts(self, _of_marked: bool = False) -> None:
        """Fold or unfold the thoughts of the turn; those that are yet to come follow."""
        turn = self._desk.conversation.branches.turn
        view = self._transcript.view(turn.key) if turn is not None else None
        unfolded = view.thoughts_unfolded if view is not None else self._transcript.unfolded
        self._transcript.unfolded = not unfolded
        if view is not None:
            view.fold_thoughts(unfolded=not unfolded)

    def action_recalled(self) -> None:
        """Fold or unfold what was recalled for the turn."""
        turn = self._desk.conversation.branches.turn
        if turn is not None and (view := self._transcript.view(turn.key)) is not None:
            view.toggle_recalled()

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

    def _switch(self, side: Side, steps: int) -> None:
        self._desk.do(self._desk.conversation.switch(side, steps))

    def _step(self, steps: int) -> None:
        conversation = self._desk.conversation
        key = conversation.branches.step(steps)
        self._transcript.mark(key, conversation.board.exchanges)
        self._to_marked()
        self._mark_state()

    @on(TurnClicked)
    def _on_turn_clicked(self, message: TurnClicked) -> None:
        """Mark the turn where it is."""
        branches = self._desk.conversation.branches
        if any(turn.key == message.key for turn in self._desk.conversation.board.turns):
            branches.marked = message.key
            self._transcript.show_marked(message.key)
            self._to_marked()
            self._mark_state()

    def _turn_has(self, action: str) -> bool:
        """Whether there is something in the turn that `action` is about."""
        turn = self._desk.conversation.branches.turn
        if turn is None:
            return False
        match action:
            case "thoughts":
                return bool(turn.thought)
            case "recalled":
                return turn.recalled is not None
        return any(sign in turn.answer for sign in _CODE_SIGNS)

    def _to_marked(self) -> None:
        """Give the marked turn its keys."""
        view = self._transcript.view(self._desk.conversation.branches.marked)
        if view is not None:
            view.focus(scroll_visible=False)

    def _unmark(self) -> None:
        """No turn is marked any more; the view stays."""
        self._desk.conversation.branches.marked = None
        self._mark_state()

    def _leave_turns(self) -> None:
        """Where no turn is marked any more, keys go to the composer."""
        marked = self._desk.conversation.branches.marked
        if marked is None and (self.focused is None or isinstance(self.focused, TurnFocus)):
            self._composer.focus()

    def _mode(self) -> str:
        """What Enter does just now, if not the usual."""
        conversation = self._desk.conversation
        if conversation.editing is not None:
            last = conversation.board.last
            if last is None or last.user_id == conversation.editing:
                return "editing your last message · ⟨chat.stop⟩ leaves it"
            turn = next(
                (turn for turn in conversation.board.turns if turn.user_id == conversation.editing), None
            )
            return f"editing turn {turn.turn if turn else ''} · ⟨chat.stop⟩ leaves it"
        if conversation.place.writer_left:
            return "read only · ⟨composer.submit⟩ takes the session over"
        if conversation.place.writer:
            return "read only · drafts stay here"
        return "read only · ⟨composer.submit⟩ chooses a model" if conversation.held.strange else ""

    def _mark_state(self) -> None:
        raise NotImplementedError


def _back(active: ActiveBinding) -> ActiveBinding:
    return active._replace(binding=replace(active.binding, description="Back"))
