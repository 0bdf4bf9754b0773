"""Which session the screen shows, and whether the worker is there too and may write.

Plain state: decides nothing, knows neither turns nor widgets.
"""

from __future__ import annotations

from chatkv.protocol import Command, New, Open, Opened, Switch


class Place:
    """One session at a time. Openings that are on their way are counted, for only the last one's answer counts."""

    def __init__(self) -> None:
        self.session: str | None = None
        self.title = ""
        self.stored = False
        self.writer = 0
        """Process that writes in the session, so that this one only reads; 0 = none does."""
        self.writer_left = False
        """It does no longer, and the session has not been taken over yet."""
        self._openings = 0
        self._carrying = False
        self._branch: int | None = None
        self.turning = False
        """Whether the worker is on its way to another branch, so that what is said now would be said elsewhere."""

    @property
    def expecting(self) -> bool:
        """Whether the worker is on its way into a session or branch."""
        return self._openings > 0

    @property
    def carries(self) -> bool:
        """Whether the session begins with a summary that is nowhere but in the worker yet."""
        return self._carrying and not self.stored

    @property
    def spoken_writer(self) -> str:
        """Who writes, and what can be done about it."""
        if self.writer_left:
            return "The other window has closed this session. ⟨chat.try_again⟩, or sending, takes it over."
        return f"Another window (process {self.writer}) writes in this session; here it is read only."

    def leave(self, session: str | None, title: str, command: New | Open, *, writer: int = 0) -> None:
        """The screen shows another session, and `command` leads the worker there."""
        self.session, self.title, self.stored = session, title, session is not None
        self.writer, self.writer_left = writer, False
        self._branch, self.turning = None, False
        self._carrying = isinstance(command, New) and command.carry
        self._openings += 1

    def turn_to(self, message_id: int) -> Switch:
        """The branch of this message is wanted: the command that leads the worker there."""
        self._branch = message_id
        self.await_branch()
        return Switch(message_id)

    def await_branch(self) -> None:
        """The worker is sent to another branch, and will say that it is there."""
        self.turning = True
        self._openings += 1

    def reopen(self) -> Open:
        """The session on screen is to be opened again."""
        self._openings += 1
        return Open(self.session or "last")

    def restart(self) -> list[Command]:
        """What leads a new worker to where the screen is."""
        if not self.stored or not self.session:
            self._openings = 1
            return [New()]
        branch = [] if self._branch is None else [Switch(self._branch)]
        self._openings, self.turning = 1 + len(branch), bool(branch)
        return [Open(self.session), *branch]

    def lose(self) -> None:
        """The worker is gone, with all that was on its way to it."""
        self._openings, self.turning = 0, False

    def count_opening(self) -> int:
        """One came: how many were on their way, this one included."""
        asked, self._openings = self._openings, max(0, self._openings - 1)
        return asked

    def arrive(self, event: Opened) -> None:
        """The worker is where the screen is."""
        self.session, self.title = event.session or None, event.title
        self.writer, self.writer_left = event.writer, False
        self._branch, self.turning = None, False

    def fail_opening(self, command: str) -> bool:
        """The worker stayed where it was; True if the screen should leave for a new session."""
        last = self.count_opening() <= 1
        self._branch, self.turning = None, False
        return last and (command == "open" or self._carrying)
