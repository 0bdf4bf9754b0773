"""What the main screen does with what is being written: completions, history, drafts, the person's own editor."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from textual import on, work
from textual.app import SuspendNotSupported
from textual.screen import Screen
from textual.widgets import TextArea

from chatkv.errors import ChatkvError, UsageError
from chatkv.tui.behind.desk import Desk
from chatkv.tui.messages import PathBegun, Refused, Submitted
from chatkv.tui.talk.exchange import Clear, GiveBack, Labelled, Restore, Say, Tokens, Update
from chatkv.tui.widgets.activity import Activity
from chatkv.tui.widgets.writing.completions import Completions
from chatkv.tui.widgets.writing.composer import Composer
from chatkv.tui.writing import attaching, history
from chatkv.tui.writing.editor import edited, editor_command
from chatkv.tui.writing.history import History
from chatkv.tui.writing.slash import as_typed
from chatkv.tui.writing.written import EMPTY, relabelled

_NO_SUSPENDING = "The editor needs this terminal for itself, and here the app cannot let go of it."


class Drafting(Screen[None]):
    """The part of the main screen that is about the composer."""

    _desk: Desk
    _composer: Composer
    _activity: Activity

    def _make_composer(self, completions: Completions) -> Composer:
        composer = Composer(completions, History(self._said_here, self._fetch_older), Path.cwd())
        self._desk.drafts.read = composer.sheet
        return composer

    def _draft(self, update: Update) -> None:
        """Carry out what concerns the composer."""
        composer = self._composer
        match update:
            case GiveBack(text) if self._desk.conversation.editing is not None:
                composer.begin_edit(text)
            case GiveBack(text):
                composer.give_back(text)
            case Tokens(n_tokens, free, room):
                composer.show_tokens(n_tokens, free, room)
            case Labelled(label, text, n_tokens):
                composer.count_label(label, text, n_tokens)
            case Clear():
                composer.end_edit()
                composer.put(EMPTY)
                composer.past.forget()
            case Restore(written):
                composer.restore(written)

    @on(Submitted)
    def _on_submitted(self, message: Submitted) -> None:
        self._activity.fail("")
        self._composer.submitted()
        self._desk.enter(message.text)

    @on(Refused)
    def _on_refused(self, message: Refused) -> None:
        self._desk.do([Say(message.reason, "error")])

    @on(TextArea.Changed)
    def _on_typed(self) -> None:
        self._composer.offer()
        self._desk.drafts.touch()

    @on(TextArea.SelectionChanged)
    def _on_cursor(self) -> None:
        self._composer.offer()

    # Completion of paths

    @on(PathBegun)
    def _on_path(self, message: PathBegun) -> None:
        self._list(message.path)

    @work(group="paths", exclusive=True)
    async def _list(self, begun: str) -> None:
        found = await asyncio.to_thread(attaching.listed, begun, self._composer.folder)
        self._composer.offer_files(begun, found)

    # History

    def _said_here(self) -> Iterator[str]:
        board = self._desk.conversation.board
        return (as_typed(turn.prompt) for turn in (*board.turns, *board.queue))

    def _fetch_older(self, before: int | None) -> None:
        self._older(before)

    @work(group="history")
    async def _older(self, before: int | None) -> None:
        try:
            found = await self._desk.reader.ask(lambda library: library.asked(history.PAGE, before))
        except ChatkvError as error:
            self._desk.do([Say(str(error), "error")])
            found = []
        past = self._composer.past
        past.take([(message_id, as_typed(text)) for message_id, text in found])
        if past.awaited:
            self._composer.recall()

    # The person's own editor

    def action_editor(self) -> None:
        """Write on in the editor that `$VISUAL` or `$EDITOR` names."""
        before = self._composer.written
        try:
            command = editor_command(os.environ)
            after = self._in_editor(before.text, command)
        except SuspendNotSupported:
            self._desk.do([Say(_NO_SUSPENDING, "error")])
        except UsageError as error:
            self._desk.do([Say(str(error), "error")])
        else:
            if after != before.text:
                self._composer.put(relabelled(after, before))
            self._composer.focus()

    def _in_editor(self, text: str, command: list[str]) -> str:
        """What the text became. An error within `suspend` would leave the terminal to the editor."""
        problem: UsageError | None = None
        after = text
        with self.app.suspend():
            try:
                after = edited(text, command)
            except UsageError as error:
                problem = error
        if problem is not None:
            raise problem
        return after
