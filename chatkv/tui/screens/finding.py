"""Finds words in the conversation on screen: in all its turns, also those that are not mounted."""

from __future__ import annotations

from textual import on
from textual.screen import Screen

from chatkv.tui.behind.desk import Desk
from chatkv.tui.prose.seeking import Match, Seeker
from chatkv.tui.widgets.find_bar import FindBar
from chatkv.tui.widgets.talk.transcript import Transcript
from chatkv.tui.widgets.writing.composer import Composer

_LAYOUT_TRIES = 6
"""A turn that was just mounted is laid out within a few refreshes."""


class Finding(Screen[None]):
    """The part of the main screen that looks for words."""

    _desk: Desk
    _transcript: Transcript
    _composer: Composer
    _find_bar: FindBar
    _seeker: Seeker

    def action_find(self) -> None:
        """Open the line to find words."""
        self.find()

    def find(self, words: str | None = None) -> None:
        """Look for `words`, or open the line with those that were looked for last."""
        self._find_bar.open(words)
        self._seek(self._find_bar.words)

    def find_again(self) -> None:
        """The turns have changed: count anew. The view stays."""
        if self._find_bar.display:
            self._seeker.look_again(self._desk.conversation.board.exchanges)
            self._find_bar.show_place(self._seeker.place)

    @on(FindBar.Sought)
    def _on_sought(self, message: FindBar.Sought) -> None:
        message.stop()
        self._seek(message.words)

    @on(FindBar.Stepped)
    def _on_stepped(self, message: FindBar.Stepped) -> None:
        message.stop()
        self._seeker.look_again(self._desk.conversation.board.exchanges)
        self._go_to(self._seeker.step(message.steps))

    @on(FindBar.Closed)
    def _on_closed(self, message: FindBar.Closed) -> None:
        message.stop()
        self._find_bar.close()
        self._light("")
        self._composer.focus()

    def _seek(self, words: str) -> None:
        start = self._transcript.first_in_sight
        match = self._seeker.seek(words, self._desk.conversation.board.exchanges, start)
        self._light(self._seeker.needle)
        self._go_to(match)

    def _light(self, needle: str) -> None:
        self._transcript.needle = needle
        for view in self._transcript.views:
            view.seek(needle)

    def _go_to(self, match: Match | None) -> None:
        """Mark the turn of `match` and bring the line where it is into sight."""
        self._find_bar.show_place(self._seeker.place)
        if match is None:
            return
        conversation = self._desk.conversation
        if any(turn.key == match.key for turn in conversation.board.turns):
            conversation.branches.marked = match.key
        self._transcript.mark(match.key, conversation.board.exchanges)
        self._bring(match, _LAYOUT_TRIES)
        self._mark_state()

    def _bring(self, match: Match, tries: int) -> None:
        if match != self._seeker.match or not self._find_bar.display:
            return
        view = self._transcript.view(match.key)
        line = None
        if view is not None:
            line = view.locate(self._seeker.needle, match.part, match.nth, match.depth)
        if view is not None and line is not None:
            self._transcript.bring(view, line)
        elif tries:
            self.call_after_refresh(self._bring, match, tries - 1)

    def _mark_state(self) -> None:
        raise NotImplementedError
