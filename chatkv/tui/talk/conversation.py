"""The state of the conversation on screen: what was asked, what is queued, what runs, what comes next.

Plain Python: protocol events and wishes of the person go in, updates for the screen come out. Knows no widgets.
At most one turn is in flight; later prompts wait here, where they can be taken back and survive the worker.
"""

from __future__ import annotations

from dataclasses import replace

from chatkv.protocol import (
    Accepted,
    Continue,
    Delta,
    Error,
    Event,
    Marks,
    Opened,
    Pin,
    Ready,
    Regenerate,
    Send,
    Thought,
    Turn,
    Unpin,
)
from chatkv.tui.talk.exchange import Choose, GiveBack, Issue, Remark, Say, Show, Stream, Update
from chatkv.tui.talk.flight import TURN_COMMANDS, Flight
from chatkv.tui.talk.waiting import WAITS
from chatkv.tui.talk.wandering import Wandering


class Conversation(Wandering):
    """One conversation at a time. Methods return the updates that the screen must carry out, in order."""

    @property
    def last_answer(self) -> str:
        """Text of the marked turn's answer, else of the newest answer that has any."""
        marked = self.branches.turn if self.branches.marked is not None else None
        turns = [marked] if marked else reversed(self.board.turns)
        return next((turn.answer for turn in turns if turn.answer), "")

    @property
    def can_extend(self) -> bool:
        """Whether the last answer was cut and nothing runs."""
        last = self.board.last
        return not self.busy and last is not None and last.extendable

    # What the person wants

    def regenerate(self) -> list[Update]:
        """Answer the marked turn's question, or the last one, again; what followed it stays as a branch."""
        turn = self.branches.turn
        if self.blocked:
            return [self.blocked]
        if turn is None:
            return [Say("There is no message to answer again yet.", "warning")]
        command = Regenerate() if turn is self.board.last else Regenerate(message_id=turn.user_id)
        return self._launch(command, replace(turn, answer="", thought="", note="", state="waiting"))

    def extend(self) -> list[Update]:
        """Go on with the last answer where it was cut."""
        last = self.board.last
        if self.blocked:
            return [self.blocked]
        if last is None or not self.can_extend:
            return [Say("The last answer is complete; there is nothing to continue.", "warning")]
        return self._launch(Continue(), replace(last, note="", state="waiting"))

    def pin(self) -> list[Update]:
        """Keep the marked turn, or the last one, word for word in the context; if it is kept, let it go again."""
        turn = self.branches.turn
        if self.blocked and not self.busy:
            return [self.blocked]
        if turn is None or not turn.turn:
            return [Say("There is no turn to pin yet.", "warning")]
        waits = [WAITS] if self.busy else []
        return [*waits, Issue(Unpin(turn.turn) if turn.mark == "pinned" else Pin(turn.turn))]

    def edit(self) -> str | None:
        """Text of the marked turn's question, else of the last one, and edit mode; None if it cannot be edited now."""
        turn = self.branches.turn
        if self.busy or self.place.writer or self.held.strange or turn is None or turn.user_id is None:
            return None
        self.editing = turn.user_id
        return turn.prompt

    # What the worker says

    def on_event(self, event: Event) -> list[Update]:
        """Take one event in."""
        match event:
            case Ready(model):
                self.ready, self.held.loaded = True, model
                return self._next()
            case Opened():
                return self._on_opened(event)
            case Accepted():
                return self._on_accepted(event)
            case Delta(message_id, text):
                return self._on_text(message_id, text, thought=False)
            case Thought(message_id, text):
                return self._on_text(message_id, text, thought=True)
            case Turn():
                return self._on_turn(event)
            case Error():
                return self._on_error(event)
            case Marks():
                self.branches.hear(event)
        return self.memory.on_event(event)

    def part(self) -> list[Update]:
        """Another model is wanted: what is said from now on is for that one."""
        self.ready, self.held.loaded = False, ""
        return [Remark()]

    def on_left(self) -> list[Update]:
        """The worker is gone and had nothing to say: prompts that wait are for the next one."""
        self.part()
        self.place.lose()
        return [*self.memory.on_death(), *map(GiveBack, self.memory.not_kept())]

    def on_death(self) -> list[Update]:
        """The worker died: what it had shown stays, flagged; what it had not taken comes back."""
        lost = self.on_left()
        flight, self._flight = self._flight, None
        if flight is None:
            return [*lost, *self._give_back()]
        turn = self.board.get(flight.key)
        if turn and (flight.accepted or isinstance(flight.command, Continue)):
            return [*lost, Show(self.board.put(replace(turn, state="partial"))), *self._give_back()]
        return [*lost, *self._undo(flight)]

    # How it is done

    def _on_accepted(self, event: Accepted) -> list[Update]:
        flight = self._flight
        turn = self.board.get(flight.key) if flight else None
        if flight is None or turn is None:
            return []
        flight.accepted = self.place.stored = True
        self.held.go_on()
        ids = replace(turn, user_id=event.user_id, answer_id=event.answer_id, turn=event.turn)
        self.board.put(replace(ids, state="streaming"))
        found = self.memory.on_accepted() if flight.text else []
        return [*found, Show(self.board.get(turn.key) or turn)]

    def _on_text(self, message_id: int, text: str, *, thought: bool) -> list[Update]:
        turn = self.board.last
        if turn is None or self._flight is None or turn.answer_id != message_id:
            return []
        self.board.grow(text, thought=thought)
        return [Stream(turn.key, text, thought)]

    def _on_turn(self, event: Turn) -> list[Update]:
        flight = self._flight
        turn = self.board.get(flight.key) if flight else None
        if flight is None or turn is None or turn.answer_id != event.message_id:
            return []
        self._flight = None
        grew = (turn.answer or turn.thought) and not isinstance(flight.command, Continue)
        if event.finish == "cancelled" and event.decoded == 0 and not grew:
            return self._undo(flight)
        shown = Show(self.board.put(turn.ended(event.finish)))
        if event.finish != "error":
            return [shown, *self._next()]
        self._failed = turn.key
        return [shown, *self._give_back()]

    def _on_error(self, event: Error) -> list[Update]:
        spoken = f"{event.message} {event.hint}".strip()
        flight = self._flight
        if event.command in ("open", "new", "fork", "switch"):
            return self._not_opened(event.command, spoken)
        if event.command not in TURN_COMMANDS:
            back = self.memory.not_kept(1) if event.command == "keep" else []
            return [*self.memory.on_event(event), *map(GiveBack, back), Say(spoken, "error")]
        if flight and not flight.accepted:
            return self._refused(flight, event, spoken)
        key = flight.key if flight else self._failed
        turn = self.board.get(key) if key else None
        if turn is None:
            return [Say(spoken, "error")]
        self._flight, self._failed = None, None
        return [Show(self.board.put(replace(turn, state="error", note=spoken))), *self._give_back()]

    def _refused(self, flight: Flight, event: Error, spoken: str) -> list[Update]:
        """The turn was not taken: its text goes to the composer, or the person chooses what becomes of it."""
        cuttable = isinstance(flight.command, Send)
        choices = tuple(choice for choice in event.choices if cuttable or choice != "head")
        if not choices:
            return [*self._undo(flight), Say(spoken, "error")]
        return [*self._undo(flight, give_back=False), Choose(flight.text, spoken, choices)]
