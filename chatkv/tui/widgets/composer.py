"""Where the person writes: several lines, Enter sends, pastes of any size stay exact."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from chatkv.tui import units
from chatkv.tui.messages import Submitted
from chatkv.tui.slash import completed
from chatkv.tui.widgets.inert_area import InertArea
from chatkv.tui.widgets.pastes import Pastes, from_terminal

_COUNT_FROM_CHARS = 200


def _key(keys: str, action: str, label: str, meaning: str) -> Binding:
    return Binding(keys, action, label, id=f"composer.{action}", show=False, tooltip=meaning)


class Composer(InertArea):
    """A text area that sends. It grows with its text up to the height that the stylesheet allows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("enter", "submit", "Send", "Send the message"),
        _key("shift+enter,ctrl+j,alt+enter", "newline", "New line", "Begin a new line in the message"),
        _key("up", "recall", "Edit", "In an empty composer: edit your last message"),
        _key("tab", "complete", "Complete", "Behind a slash: write the command out"),
        _key("question_mark", "help", "Help", "In an empty composer: list all keys"),
    ]

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True,
            compact=True,
            highlight_cursor_line=False,
            placeholder="Write a message; Enter sends it; / for commands",
            tab_behavior="focus",
        )
        self._pastes = Pastes()

    @property
    def message(self) -> str:
        """The text as it would be sent: pastes whole."""
        return self._pastes.expand(self.text)

    def action_submit(self) -> None:
        """Send what is written, unless it is blank."""
        text = self.message
        if text.strip():
            self.post_message(Submitted(text))
            self.put("")

    def action_newline(self) -> None:
        """Begin a new line at the cursor."""
        self.insert("\n")

    async def action_recall(self) -> None:
        """Edit the last message; where something is written, move the cursor up."""
        if self.text:
            self.action_cursor_up()
        else:
            await self.run_action("screen.edit")

    async def action_complete(self) -> None:
        """Write the first command that fits out; elsewhere, go to the next place."""
        whole = completed(self.text)
        if whole is None:
            self.screen.focus_next()
        else:
            self.put(whole)

    async def action_help(self) -> None:
        """List all keys."""
        await self.run_action("app.help")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a selection, Ctrl+C is not this widget's."""
        return bool(self.selected_text) if action == "copy" else super().check_action(action, parameters)

    def put(self, text: str) -> None:
        """Replace everything by `text`; the cursor goes to its end."""
        self._pastes.clear()
        self.text = self._pastes.take(text)
        self.move_cursor(self.document.end)
        self.count()

    def give_back(self, text: str) -> None:
        """Put `text` before what is being written."""
        written = self.message
        self.put(f"{text}\n\n{written}" if written.strip() else text)

    def count(self) -> None:
        """Show how much is written, once it is more than one sees at a glance."""
        text = self.message
        size = units.size(len(text.encode(errors="replace")))
        large = len(text) >= _COUNT_FROM_CHARS
        self.border_subtitle = f"{units.plural(text.count(chr(10)) + 1, 'line')} · {size}" if large else ""

    async def _on_key(self, event: events.Key) -> None:
        """Keys of its own, taken in turn with what is typed: a binding would overtake letters that still wait."""
        match event.key:
            case "enter":
                self.action_submit()
            case "shift+enter" | "ctrl+j" | "alt+enter":
                self.action_newline()
            case "up" if not self.text:
                await self.action_recall()
            case "tab" if completed(self.text) is not None:
                await self.action_complete()
            case "question_mark" if not self.text:
                await self.action_help()
            case _:
                return
        event.stop()
        event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert a paste exactly, a large one as a label."""
        event.prevent_default()
        event.stop()
        self.replace(self._pastes.take(from_terminal(event.text)), *self.selection)
        self.scroll_cursor_visible()
