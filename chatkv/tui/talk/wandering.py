"""Where the conversation on screen is: another session, another branch, a session that another window writes.

The first floor of `conversation`: leads the worker to what is shown, and the screen to where the worker is.
"""

from __future__ import annotations

from collections.abc import Iterable

from chatkv.protocol import Fork, New, Open, Opened
from chatkv.tui.talk.branches import Side
from chatkv.tui.talk.exchange import Exchange, Issue, Rebuild, Refresh, Reload, Say, Stream, Update
from chatkv.tui.talk.waiting import Waiting

_NO_MARK = Say("Mark the turn to go on from first: ⟨chat.mark_above⟩.", "warning")
_AT_END = Say("The conversation already ends here.")


class Wandering(Waiting):
    """One conversation at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._turned_at: int | None = None
        """Which turn, counted from 0, stays in sight when the other branch is shown."""

    @property
    def session(self) -> str | None:
        """Id of the session on screen; None for one that is not stored yet."""
        return self.place.session

    @session.setter
    def session(self, session: str | None) -> None:
        self.place.session = session

    @property
    def title(self) -> str:
        """Title of the session on screen."""
        return self.place.title

    @title.setter
    def title(self, title: str) -> None:
        self.place.title = title

    # Sessions

    def start_new(self, *, carry: bool = False) -> list[Update]:
        """Leave for a new, empty session; `carry`: with the summary of this one."""
        updates = self._depart()
        command = New(carry=carry)
        self.place.leave(None, "", command)
        self.held.take("", "")
        self.board.load(())
        return [*updates, Rebuild(), Issue(command)]

    def show_session(
        self,
        session: str,
        title: str,
        turns: Iterable[Exchange],
        *,
        model: str = "",
        spec: str = "",
        writer: int = 0,
        message_id: int | None = None,
        switch: bool = False,
    ) -> list[Update]:
        """Leave for a stored session, whose turns are painted at once.

        `model`: held with it, and `spec` loads it; `writer`: another process that writes in it. `message_id` is
        brought into sight; `switch`: the turns are those of its branch, which is not the one in use.
        """
        updates = self._depart()
        command = Open(session)
        self.place.leave(session, title, command, writer=writer)
        self.held.take(model, spec)
        self.board.load(turns)
        wanted = [self.place.turn_to(message_id)] if switch and message_id is not None and not writer else []
        at = self._key_of(message_id)
        self.branches.marked = at
        return [*updates, Rebuild(at), Issue(command), *map(Issue, wanted)]

    def on_restart(self) -> list[Update]:
        """A new worker runs: lead it to where the old one was."""
        return [Issue(command) for command in self.place.restart()]

    def refreshed(self, turns: Iterable[Exchange]) -> list[Update]:
        """The turns of the session on screen as the store has them now."""
        marked = self.branches.marked is not None
        self.board.reload(turns)
        self.memory.remark()
        at, self._turned_at = self._turned_at, None
        key = self.board.turns[at].key if at is not None and at < len(self.board.turns) else None
        self.branches.marked = key if marked else None
        return [Rebuild(key, stay=bool(self.place.writer)), *self._next()]

    def unreadable(self) -> list[Update]:
        """The store could not be read: what is on screen stays."""
        self._turned_at = None
        return self._next()

    # Branches

    def switch(self, side: Side, steps: int, key: int | None = None) -> list[Update]:
        """Go to the wording or answer beside that of turn `key`, else of the marked or newest turn that has any."""
        if self.blocked:
            return [self.blocked]
        turn = self.board.get(key) if key is not None else self.branches.subject(side)
        found = self.branches.beside(side, steps, turn)
        if isinstance(found, str):
            return [Say(found)]
        self._turned_at = self.board.turns.index(turn) if turn in self.board.turns else None
        return [Issue(self.place.turn_to(found))]

    def fork(self) -> list[Update]:
        """Go on from the marked turn: the conversation ends with its answer; what followed stays as a branch."""
        turn = self.branches.turn
        if self.blocked or turn is None or self.branches.marked is None:
            return [self.blocked or _NO_MARK]
        if turn is self.board.last or turn.answer_id is None:
            return [_AT_END]
        self.branches.marked = None
        self.place.await_branch()
        return [Issue(Fork(turn.answer_id))]

    # A session that another window writes

    def watch(self, *, writer: int, answer_id: int | None, answer: str, thought: str) -> list[Update]:
        """What the writer did since the last time: more text of the newest answer, or it left."""
        last = self.board.last
        updates: list[Update] = []
        self.place.writer_left = writer == 0
        if writer:
            self.place.writer = writer
        if last is None or last.answer_id != answer_id:
            return []
        for text, shown, is_thought in ((thought, last.thought, True), (answer, last.answer, False)):
            if text.startswith(shown) and len(text) > len(shown):
                self.board.grow(text[len(shown) :], thought=is_thought)
                updates.append(Stream(last.key, text[len(shown) :], is_thought))
        return updates

    # How it is done

    def _depart(self) -> list[Update]:
        updates = [*self.stop(), *self.memory.forget()]
        self._flight = self._failed = self.editing = self._turned_at = None
        self.branches.marked = None
        return updates

    def _key_of(self, message_id: int | None) -> int | None:
        return next(
            (
                turn.key
                for turn in self.board.turns
                if message_id is not None and message_id in (turn.user_id, turn.answer_id)
            ),
            None,
        )

    def _on_opened(self, event: Opened) -> list[Update]:
        asked = self.place.count_opening()
        if asked > 1:
            return []
        if asked == 0 and not self.busy and event.session not in ("", self.session):
            return [Reload(event.session)]
        followed = self.place.writer
        self.place.arrive(event)
        if event.session:
            self.held.learn(event.model)
        if followed and not event.writer:
            # The last answer of the other window may have ended, or been cut, since it was last looked at.
            return [Refresh()]
        if event.writer:
            kept = self._give_back() if self.board.queue else []
            return [*kept, *([Say(self.place.spoken_writer, "warning")] if kept else []), *self._moved(event)]
        return self._moved(event) or self._next()

    def _moved(self, event: Opened) -> list[Update]:
        """To read the branch from the store, where the worker's is not the one on screen."""
        last = self.board.last
        here = (last.answer_id or last.user_id) if last else None
        moved = not self.busy and event.leaf_id is not None and event.leaf_id != here
        return [Refresh()] if moved else []

    def _not_opened(self, command: str, spoken: str) -> list[Update]:
        """The worker is still where it was. Where the screen is not, both go to a new session."""
        self._turned_at = None
        if command in ("fork", "switch"):
            self.place.fail_opening(command)
            return [Say(spoken, "error"), *([Refresh()] if self.session else [])]
        leave = self.place.fail_opening(command)
        return [*(self.start_new() if leave else []), Say(spoken, "error")]
