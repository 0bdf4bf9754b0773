"""What was written before: walked through from the composer, newest first, with the draft at the near end.

Plain state. Knows neither widgets nor the store: who makes it gives what was said here, and is asked for more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from chatkv.tui.writing.written import Written

PAGE = 50
_MOST = 1_000


class History:
    """One walk at a time. What is changed on the way stays changed until the walk ends.

    `own`: what was said in the session on screen, oldest first. `fetch`: called with the id of the oldest message that
    is known (None: none is) when more is wanted; the answer comes by `take`.
    """

    def __init__(self, own: Callable[[], Iterable[str]], fetch: Callable[[int | None], None]) -> None:
        self._own = own
        self._fetch = fetch
        self._typed: list[str] = []
        self._aside: list[Written] = []
        self._entries: list[Written] = []
        self._at = 0
        self._oldest: int | None = None
        self._ended = self._fetching = False
        self.awaited = False
        """Whether a step to an older text waits for the store."""

    @property
    def walking(self) -> bool:
        """Whether another text than the draft is in the composer."""
        return self._at > 0

    def draft(self, now: Written) -> Written:
        """What is being written while `now` is in the composer: that itself, unless it is an old text as it was."""
        return self._entries[0] if self.walking and now.text == self._entries[self._at].text else now

    def note(self, typed: str) -> None:
        """This was sent: the walk is over."""
        self._typed.append(typed)
        self.end()

    def set_aside(self, written: Written) -> None:
        """Keep a text that found no place in the composer, as the newest one."""
        self._aside.append(written)

    def forget(self) -> None:
        """Another session is on screen."""
        self._typed, self._aside = [], []
        self.end()

    def end(self) -> None:
        """The walk is over; the next one begins at what is in the composer."""
        self._entries, self._at, self._oldest = [], 0, None
        self._ended = self.awaited = False

    def older(self, now: Written) -> Written | None:
        """The text before the one in the composer, which is `now`; None where there is none, or not yet."""
        if not self._entries:
            self._begin(now)
        self.awaited = False
        if self._at + 1 < len(self._entries):
            return self._step(1, now)
        if not self._ended:
            self.awaited = True
            self._ask()
        return None

    def newer(self, now: Written) -> Written | None:
        """The text after it; None where it is the draft."""
        self.awaited = False
        return self._step(-1, now) if self.walking else None

    def take(self, found: Sequence[tuple[int, str]]) -> None:
        """More from the store: message ids and texts, newest first; fewer than `PAGE` = there are no more."""
        self._fetching = False
        if not self._entries:
            return
        if found:
            self._oldest = found[-1][0]
        self._add(text for _, text in found)
        self._ended = len(found) < PAGE or len(self._entries) > _MOST
        if self._at + 1 == len(self._entries) and not self._ended:
            self._ask()

    def _begin(self, now: Written) -> None:
        self._entries = [now, *reversed(self._aside)]
        self._add(reversed(self._typed))
        self._add(reversed(list(self._own())))

    def _add(self, texts: Iterable[str]) -> None:
        known = {entry.text for entry in self._entries[1:]}
        for text in texts:
            if text.strip() and text not in known:
                known.add(text)
                self._entries.append(Written(text))

    def _step(self, steps: int, now: Written) -> Written:
        self._entries[self._at] = now
        self._at += steps
        return self._entries[self._at]

    def _ask(self) -> None:
        if not self._fetching:
            self._fetching = True
            self._fetch(self._oldest)
