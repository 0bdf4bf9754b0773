"""Where the person writes: several lines, Enter sends, pastes of any size stay exact, what was written comes back."""

from __future__ import annotations

import os.path
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypeVar

from textual import events
from textual.binding import Binding, BindingType

from chatkv.errors import UsageError
from chatkv.tui import units
from chatkv.tui.messages import PathBegun, Refused, Submitted
from chatkv.tui.widgets.hints import named
from chatkv.tui.widgets.writing.completions import Completions, Offer
from chatkv.tui.widgets.writing.labelled_area import LabelledArea
from chatkv.tui.widgets.writing.patience import patiently
from chatkv.tui.writing import attaching
from chatkv.tui.writing.history import History
from chatkv.tui.writing.slash import SlashCommand, matching, message_of
from chatkv.tui.writing.written import EMPTY, Sheet, Written

_Read = TypeVar("_Read")
_SIZE_FROM_CHARS = 200
_PLACEHOLDER = "Write a message; / for commands, @ for files"


def _key(keys: str, action: str, label: str, meaning: str) -> Binding:
    return Binding(keys, action, label, id=f"composer.{action}", show=False, tooltip=meaning)


class Composer(LabelledArea):
    """A text area that sends. It grows with its text up to the height that the stylesheet allows.

    `completions` shows what the word at the cursor may become; paths are relative to `folder`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("enter", "submit", "Send", "Send the message, or take the completion that is chosen"),
        _key("shift+enter,ctrl+j,alt+enter", "newline", "New line", "Begin a new line in the message"),
        _key(
            "up", "older", "Written before", "On the first line: what you wrote before; choose a completion"
        ),
        _key("down", "newer", "Written after", "On the last line: come back to what you were writing"),
        _key("tab", "complete", "Complete", "Behind a slash or an @: write the command or file out"),
        _key("question_mark", "help", "Help", "In an empty composer: list all keys"),
    ]

    def __init__(self, completions: Completions, history: History, folder: Path) -> None:
        super().__init__(_PLACEHOLDER)
        self.completions = completions
        self.past = history
        self.folder = folder
        self._aside: Written | None = None
        self._submitting = False
        self._counted = False
        self._n_puts = 0
        """How often all was replaced: what was read for a text is not for the next one."""

    # What is written

    def sheet(self) -> Sheet | None:
        """All that is written; None while something is on its way to be sent. Says how much it is, too."""
        if self._submitting:
            return None
        now = self.written
        if not self._counted:
            self._show_size(now.text)
        return Sheet(now, self.past.draft(now) if self._aside is None else self._aside)

    def put(self, text: str | Written) -> None:
        """Replace everything by `text`; the cursor goes to its end."""
        self._n_puts += 1
        super().put(text)
        self.past.end()

    def give_back(self, text: str) -> None:
        """Put `text` before what is being written."""
        written = self.message
        self.put(f"{text}\n\n{written}" if written.strip() else text)

    def begin_edit(self, text: str) -> None:
        """An earlier message is edited: what was being written waits."""
        if self._aside is None:
            self._aside = self.written
        self.put(text)

    def end_edit(self) -> None:
        """No earlier message is edited any more: what was being written comes back."""
        aside, self._aside = self._aside, None
        self.put(aside or EMPTY)

    def restore(self, written: Written) -> None:
        """A draft was found for what is on screen now. What is being written already goes first."""
        if self.blank:
            self.put(written)
        elif written.text and written != self.written:
            self.past.set_aside(written)

    # How much it is

    def show_tokens(self, n_tokens: int, free: int, room: int) -> None:
        """Show the exact count; 0 = it is not known."""
        self._counted = n_tokens > 0 and not self.blank
        over, tight = room > 0 and n_tokens > room, room > 0 and n_tokens > free
        self.set_class(self._counted and over, "-too-long")
        self.set_class(self._counted and tight and not over, "-tight")
        if not self._counted:
            self.border_subtitle = ""
            return
        rest = f" · {free:,} free" if room > 0 else ""
        if over:
            rest = f" · too long by {n_tokens - room:,}"
        elif tight:
            rest = " · old turns will be summarized first"
        self.border_subtitle = f"{units.plural(n_tokens, 'token')}{rest}"

    def count_label(self, label: str, text: str, n_tokens: int) -> None:
        """Write into a label how many tokens its text is."""
        if (longer := self.pastes.counted(label, text, n_tokens)) is not None:
            self.swap(label, longer)

    def _show_size(self, text: str) -> None:
        size = units.size(len(text.encode(errors="replace")))
        large = len(text) >= _SIZE_FROM_CHARS
        self.border_subtitle = f"{units.plural(text.count(chr(10)) + 1, 'line')} · {size}" if large else ""

    # Completions

    def offer(self) -> None:
        """Show what the word at the cursor may become."""
        if self.blank:
            self.show_tokens(0, 0, 0)
        row, column = self.cursor_location
        line = self.document.get_line(row)
        path = attaching.begun(line, column) if self.selection.is_empty else None
        if self.past.walking:
            self.completions.offer(())
        elif self._aside is None and self.document.line_count == 1 and matching(line):
            self.completions.offer(list(map(_offer, matching(line))), named(self, " · ⟨app.help⟩ lists all"))
        elif path is not None:
            self.post_message(PathBegun(path.path))
        else:
            self.completions.offer(())

    def offer_files(self, begun: str, found: list[attaching.Entry]) -> None:
        """Show what a path that begins so may become, if it is still the one at the cursor."""
        row, column = self.cursor_location
        path = attaching.begun(self.document.get_line(row), column)
        if path is None or path.path != begun or self.past.walking:
            return
        self.completions.offer([_file_offer(entry) for entry in found])

    async def _take(self, offer: Offer) -> None:
        """Write an offer out in the place of the word at the cursor."""
        typed = await self._label(offer.file) if offer.file else offer.typed
        if not typed:
            return
        row, column = self.cursor_location
        line = self.document.get_line(row)
        path = attaching.begun(line, column)
        self.replace(typed, (row, path.start if path else 0), (row, column if path else len(line)))
        self.offer()

    async def _label(self, path: str) -> str:
        """What stands for a file; empty where it cannot be read, or another text stands here by now."""
        file = self.folder / os.path.expanduser(path)
        text = await self._read(lambda: attaching.text_of(file))
        if text is None:
            return ""
        return self.pastes.label(file.name, attaching.fenced(file.name, text), self.text, size_of=text)

    async def _read(self, read: Callable[[], _Read]) -> _Read | None:
        """What `read` gives of the disk; None where it cannot, or another text stands here by now. Keys wait."""
        n_puts = self._n_puts
        try:
            found = await patiently(self, read, "Reading a file; what you type waits for it.")
        except UsageError as error:
            self.post_message(Refused(str(error)))
            return None
        return found if n_puts == self._n_puts else None

    # Keys

    async def action_submit(self) -> None:
        """Send what is written, unless it is blank; take the completion that is chosen instead."""
        if (offer := self.completions.chosen) is not None:
            await self._take(offer)
            if not offer.whole:
                return
        text = await self._with_files()
        if text is not None and text.strip():
            self._submitting = True
            self.past.note(self.message)
            self.post_message(Submitted(text))
            self.end_edit()
            self.completions.offer(())

    def submitted(self) -> None:
        """What was sent has been taken up."""
        self._submitting = False

    async def _with_files(self) -> str | None:
        """The message, with the text of each file that it names; None as from `_read`."""
        edited, folder = self.text, self.folder
        if "@" not in edited or (self._aside is None and message_of(edited) is None):
            return self.message
        files = await self._read(lambda: attaching.attached(edited, folder))
        if files is None:
            return None
        parts: list[str] = []
        at = 0
        for mention, whole in files:
            parts += [self.pastes.expand(edited[at : mention.start]), whole]
            at = mention.end
        return "".join([*parts, self.pastes.expand(edited[at:])])

    def action_newline(self) -> None:
        """Begin a new line at the cursor."""
        self.insert("\n")

    def action_older(self) -> None:
        """Choose the completion above; on the first line, show what was written before; else move up."""
        if self.completions.move(-1):
            return
        if not self.navigator.is_first_wrapped_line(self.cursor_location):
            self.action_cursor_up()
        elif self._aside is None:
            self.recall()

    def action_newer(self) -> None:
        """Choose the completion below; on the last line, come back to what was written later; else move down."""
        if self.completions.move(1):
            return
        if not self.navigator.is_last_wrapped_line(self.cursor_location):
            self.action_cursor_down()
        elif (found := self.past.newer(self.written)) is not None:
            super().put(found)

    def recall(self) -> None:
        """Show what was written before this."""
        if (found := self.past.older(self.written)) is not None:
            super().put(found)

    async def action_complete(self) -> None:
        """Write the offer that is chosen, or the first one, out; elsewhere, go to the next place."""
        self.offer()
        if (offer := self.completions.first) is not None:
            await self._take(offer)
        else:
            self.screen.focus_next()

    async def action_help(self) -> None:
        """List all keys."""
        await self.run_action("app.help")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a selection, Ctrl+C is not this widget's."""
        return bool(self.selected_text) if action == "copy" else super().check_action(action, parameters)

    async def _on_key(self, event: events.Key) -> None:
        """Keys of its own, taken in turn with what is typed: a binding would overtake letters that still wait."""
        action = self._own_action(event.key)
        joins = bool(event.character) and unicodedata.category(event.character or " ") == "Cf"
        if not joins and (action is None or (action == "help" and not self.blank)):
            return
        event.stop()
        event.prevent_default()
        if action is not None:
            await self.run_action(action)
        elif event.character:
            # Textual drops what has no shape of its own: what joins an emoji's parts, or turns the direction.
            self.replace(event.character, *self.selection, maintain_selection_offset=False)

    def _own_action(self, key: str) -> str | None:
        """What a key does by a binding of this class, as the person's keymap has it."""
        bindings = self._bindings.copy()
        bindings.apply_keymap(self.app._keymap)
        for binding in bindings.key_to_bindings.get(key, ()):
            if binding.id and binding.id.startswith("composer."):
                return binding.action
        return None


def _offer(command: SlashCommand) -> Offer:
    typed = f"/{command.name}" + (" " if command.arguments else "")
    return Offer(command.usage, command.meaning, typed, whole=not command.arguments)


def _file_offer(entry: attaching.Entry) -> Offer:
    title = f"{entry.path}/" if entry.folder else entry.path
    return Offer(
        title, "folder" if entry.folder else "", entry.typed, file="" if entry.folder else entry.path
    )
