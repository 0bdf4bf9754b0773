"""The line at an end of the transcript: how many messages there are beyond it."""

from __future__ import annotations

from textual import events

from chatkv.tui import units
from chatkv.tui.messages import MoreWanted
from chatkv.tui.widgets.hints import named
from chatkv.tui.widgets.line import Line


class More(Line):
    """Draws the count; a click loads more."""

    def __init__(self, *, older: bool) -> None:
        super().__init__(classes="more")
        self._older = older

    def show_count(self, count: int) -> None:
        """Draw it; nothing is to be seen of none."""
        self.display = count > 0
        arrow, kind, key = (
            ("▲", "earlier", "⟨chat.top⟩: the beginning")
            if self._older
            else ("▼", "later", "⟨chat.end⟩: the end")
        )
        self.show(f"{arrow} {units.plural(count, f'{kind} message')} · {named(self, key)}" if count else "")

    def on_click(self, event: events.Click) -> None:
        """Load more."""
        event.stop()
        self.post_message(MoreWanted(older=self._older))
