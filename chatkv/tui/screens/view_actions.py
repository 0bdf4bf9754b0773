"""What the keys of the main screen do with the view: scroll the conversation, fold the sidebar."""

from __future__ import annotations

from textual.screen import Screen

from chatkv.tui.behind.desk import Desk
from chatkv.tui.widgets.memory.sidebar import Sidebar
from chatkv.tui.widgets.talk.transcript import Transcript


class ViewActions(Screen[None]):
    """The part of the main screen that changes nothing but what is in sight."""

    _desk: Desk
    _transcript: Transcript
    _sidebar: Sidebar

    def action_sidebar(self) -> None:
        """Show or hide the sidebar; in a small terminal, over the transcript."""
        shown = self._sidebar.display
        self.set_class(shown, "-folded")
        self.set_class(not shown, "-unfolded")

    def action_events(self) -> None:
        """List what happened in this session."""
        from chatkv.tui.screens.events import EventsScreen

        self.app.push_screen(EventsScreen(lambda: self._desk.gauges.happened))

    def action_page_up(self) -> None:
        """Scroll the conversation a page up."""
        self._transcript.page(-1)

    def action_page_down(self) -> None:
        """Scroll the conversation a page down."""
        self._transcript.page(1)

    def action_top(self) -> None:
        """Go to the beginning."""
        self._transcript.to_top(self._desk.conversation.board.exchanges)

    def action_end(self) -> None:
        """Go to the end and follow it."""
        self._transcript.to_end(self._desk.conversation.board.exchanges)
