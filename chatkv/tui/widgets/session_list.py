"""The lines of the session list. However many there are, only as many are made as have been scrolled to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from chatkv.tui.behind import listing
from chatkv.tui.behind.listing import Heading, Row
from chatkv.tui.widgets.session_rows import content

_AT_ONCE = 60
_AHEAD = 20


class SessionList(OptionList, can_focus=False):
    """Draws rows; `current` is the session on screen, `now` gives seconds since the epoch."""

    class EndNear(Message):
        """The last row has nearly been scrolled to."""

    def __init__(self, current: str | None, now: Callable[[], float]) -> None:
        super().__init__(compact=True)
        self._current = current
        self._now = now
        self._rows: Sequence[Row] = ()

    @property
    def marked(self) -> Row | None:
        """The row with the mark."""
        at = self.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def show(self, rows: Sequence[Row], *, keep: bool) -> None:
        """Draw these rows. `keep`: the mark stays at its row, wherever that is now; else it goes to the first."""
        was = listing.key(self.marked) if keep and self.marked is not None else None
        same = rows[: self.option_count] == self._rows[: self.option_count] and self.option_count > 0
        self._rows = rows
        if same and keep:
            self._grow(_AT_ONCE)
            return
        keys = [listing.key(row) for row in rows]
        at = keys.index(was) if was in keys else 0
        self.clear_options()
        self._grow(at + _AT_ONCE)
        self.highlighted = self._choosable(at, 1)

    def move(self, steps: int) -> None:
        """Move the mark, not past the ends, and over what cannot be chosen."""
        if not self._rows:
            return
        at = max(0, min(len(self._rows) - 1, (self.highlighted or 0) + steps))
        self._grow(at + _AHEAD)
        self.highlighted = self._choosable(at, 1 if steps > 0 else -1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Make more rows before the last one comes into sight."""
        super().watch_scroll_y(old_value, new_value)
        if new_value + 2 * self.size.height > self.max_scroll_y and new_value > old_value:
            self._grow(self.option_count + _AHEAD)

    def _grow(self, wanted: int) -> None:
        """Make the rows up to number `wanted`, as far as there are any."""
        fresh = self._rows[self.option_count : wanted]
        if fresh:
            now, count = self._now(), self.option_count
            self.add_options(
                Option(content(row, self._current, now), id=f"{count + n}", disabled=isinstance(row, Heading))
                for n, row in enumerate(fresh)
            )
        if wanted >= len(self._rows):
            self.post_message(self.EndNear())

    def _choosable(self, at: int, step: int) -> int | None:
        for way in (step, -step):
            n = at
            while 0 <= n < len(self._rows):
                if not isinstance(self._rows[n], Heading):
                    return n
                n += way
        return None
