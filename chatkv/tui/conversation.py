"""The state of the conversation on screen: what was asked, what is queued, what runs, what comes next.

Plain Python: protocol events and wishes of the person go in, updates for the screen come out. Knows no widgets.
At most one turn is in flight; later prompts wait here, where they can be taken back and survive the worker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from chatkv.protocol import (
    Accepted,
    Command,
    Continue,
    Delta,
    Edit,
    Error,
    Event,
    Keep,
    New,
    Open,
    Opened,
    Ready,
    Regenerate,
    Send,
    Stop,
    Thought,
    Turn,
)
from chatkv.tui.board import Board
from chatkv.tui.exchange import Choose, Exchange, GiveBack, Issue, Rebuild, Reload, Say, Show, Stream, Update
from chatkv.tui.flight import TURN_COMMANDS, Flight, TurnCommand
from chatkv.tui.remembered import Remembered
from chatkv.tui.slash import as_typed

_BUSY = Say("An answer is running. Esc stops it.", "warning")
_NOT_READY = Say("The model is not ready yet.", "warning")
_WAITS = Say("This waits for the running answer.")


class Conversation:
    """One conversation at a time. Methods return the updates that the screen must carry out, in order."""

    def __init__(self) -> None:
        self.board = Board()
        self.memory = Remembered(self.board)
        self.session: str | None = None
        self.title = ""
        self.editing: int | None = None
        """Id of the user message that the next `submit` replaces."""
        self.ready = False
        self._stored = False
        self._flight: Flight | None = None
        self._failed: int | None = None
        self._openings = 0
        self._carrying = False

    @property
    def busy(self) -> bool:
        """Whether a turn is in flight."""
        return self._flight is not None

    @property
    def last_answer(self) -> str:
        """Text of the newest answer that has any."""
        return next((turn.answer for turn in reversed(self.board.turns) if turn.answer), "")

    @property
    def can_extend(self) -> bool:
        """Whether the last answer was cut and nothing runs."""
        last = self.board.last
        return not self.busy and last is not None and last.extendable

    # What the person wants

    def submit(self, text: str, *, head_only: bool = False) -> list[Update]:
        """Say `text`, now or when the running answer is over; in edit mode, in place of the edited message.

        `head_only`: as much of its beginning as fits.
        """
        if self.editing is None:
            return [Show(self.board.enqueue(text, head_only=head_only)), *self._next()]
        if self.busy or not self.ready:
            return [GiveBack(text), _BUSY if self.busy else _NOT_READY]
        message_id, self.editing = self.editing, None
        return self._launch(Edit(message_id, text), self.board.fresh(text))

    def order(self, command: Command, typed: str) -> list[Update]:
        """Have the worker carry out `command`; `typed` goes back to the composer if it cannot."""
        if not self.ready:
            return [GiveBack(typed), _NOT_READY]
        if isinstance(command, Keep):
            self.memory.keep(typed)
        return [*([_WAITS] if self.busy else []), Issue(command)]

    def stop(self) -> list[Update]:
        """Stop the running answer or compaction; prompts that wait go back to the composer."""
        updates = self._give_back()
        return [*updates, Issue(Stop())] if self.busy or self.memory.compacting else updates

    def regenerate(self) -> list[Update]:
        """Answer the last message again."""
        last = self.board.last
        if self.busy or not self.ready:
            return [_BUSY if self.busy else _NOT_READY]
        if last is None:
            return [Say("There is no message to answer again yet.", "warning")]
        return self._launch(Regenerate(), replace(last, answer="", thought="", note="", state="waiting"))

    def extend(self) -> list[Update]:
        """Go on with the last answer where it was cut."""
        last = self.board.last
        if self.busy or not self.ready:
            return [_BUSY if self.busy else _NOT_READY]
        if last is None or not self.can_extend:
            return [Say("The last answer is complete; there is nothing to continue.", "warning")]
        return self._launch(Continue(), replace(last, note="", state="waiting"))

    def edit_last(self) -> str | None:
        """Text of the last user message, and edit mode; None when there is nothing to edit now."""
        last = self.board.last
        if self.busy or last is None or last.user_id is None:
            return None
        self.editing = last.user_id
        return last.prompt

    def start_new(self, *, carry: bool = False) -> list[Update]:
        """Leave for a new, empty session; `carry`: with the summary of this one."""
        return self._leave(None, "", (), New(carry=carry))

    def show_session(self, session: str, title: str, turns: Iterable[Exchange]) -> list[Update]:
        """Leave for a stored session, whose turns are painted at once."""
        return self._leave(session, title, turns, Open(session))

    # What the worker says

    def on_event(self, event: Event) -> list[Update]:
        """Take one event in."""
        match event:
            case Ready():
                self.ready = True
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
        return self.memory.on_event(event)

    def on_death(self) -> list[Update]:
        """The worker died: what it had shown stays, flagged; what it had not taken comes back."""
        self.ready, self._openings = False, 0
        flight, self._flight = self._flight, None
        lost = [*self.memory.on_death(), *map(GiveBack, self.memory.not_kept())]
        if flight is None:
            return [*lost, *self._give_back()]
        turn = self.board.get(flight.key)
        if turn and (flight.accepted or isinstance(flight.command, Continue)):
            return [*lost, Show(self.board.put(replace(turn, state="partial"))), *self._give_back()]
        return [*lost, *self._undo(flight)]

    def on_restart(self) -> list[Update]:
        """A new worker runs: lead it to where the old one was."""
        self._openings = 1
        return [Issue(Open(self.session) if self._stored and self.session else New())]

    # How it is done

    def _leave(
        self, session: str | None, title: str, turns: Iterable[Exchange], command: New | Open
    ) -> list[Update]:
        updates = [*self.stop(), *self.memory.forget()]
        self._flight = self._failed = self.editing = None
        self.session, self.title, self._stored = session, title, session is not None
        self._openings += 1
        self._carrying = isinstance(command, New) and command.carry
        self.board.load(turns)
        return [*updates, Rebuild(), Issue(command)]

    def _next(self) -> list[Update]:
        """Send the oldest waiting prompt if nothing stands in its way."""
        if not self.board.queue or not self.ready or self.busy:
            return []
        waiting = self.board.queue.pop(0)
        command = Send(waiting.prompt, overlong="head" if waiting.head_only else "refuse")
        return self._launch(command, replace(waiting, state="waiting"))

    def _launch(self, command: TurnCommand, exchange: Exchange) -> list[Update]:
        self._flight, self._failed = Flight(command, exchange.key, tuple(self.board.turns)), None
        if isinstance(command, Edit):
            self.board.cut_at(command.message_id)
        if isinstance(command, Regenerate | Continue):
            self.board.put(exchange)
        else:
            self.board.turns.append(exchange)
        return [Rebuild() if isinstance(command, Edit) else Show(exchange), Issue(command)]

    def _on_opened(self, event: Opened) -> list[Update]:
        asked, self._openings = self._openings, max(0, self._openings - 1)
        if asked > 1:
            return []
        if asked == 0 and not self.busy and event.session not in ("", self.session):
            return [Reload(event.session)]
        self.session, self.title = event.session or None, event.title
        return []

    def _on_accepted(self, event: Accepted) -> list[Update]:
        flight = self._flight
        turn = self.board.get(flight.key) if flight else None
        if flight is None or turn is None:
            return []
        flight.accepted = self._stored = True
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
        if event.command in ("open", "new"):
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

    def _not_opened(self, command: str, spoken: str) -> list[Update]:
        """The worker is still where it was, the screen is not: both go to a new session."""
        last, self._openings = self._openings <= 1, max(0, self._openings - 1)
        leave = last and (command == "open" or self._carrying)
        return [*(self.start_new() if leave else []), Say(spoken, "error")]

    def _refused(self, flight: Flight, event: Error, spoken: str) -> list[Update]:
        """The turn was not taken: its text goes to the composer, or the person chooses what becomes of it."""
        cuttable = isinstance(flight.command, Send)
        choices = tuple(choice for choice in event.choices if cuttable or choice != "head")
        if not choices:
            return [*self._undo(flight), Say(spoken, "error")]
        return [*self._undo(flight, give_back=False), Choose(flight.text, spoken, choices)]

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
