"""The summary in front of the conversation: read it, change it, take a change back."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Label

from chatkv.protocol import Command, Summarized, Summary
from chatkv.tui import units
from chatkv.tui.inert import one_line
from chatkv.tui.talk.telling import named
from chatkv.tui.widgets import hints
from chatkv.tui.widgets.writing.clustered_area import ClusteredArea

_ORIGINS = {"model": "written by the model", "extract": "sentences of these turns"}


class SummaryScreen(ModalScreen[None]):
    """Shows a `Summarized` and every newer one; `issue` sends commands. A text that is being changed is never
    overwritten."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+s", "save", "Save", id="summary.save", priority=True, tooltip="Save what you wrote into it"
        ),
        Binding(
            "ctrl+r",
            "undo",
            "Take back",
            id="summary.undo",
            priority=True,
            tooltip="Take the newest change or compaction back",
        ),
        Binding(
            "escape",
            "close",
            "Back",
            id="summary.close",
            priority=True,
            tooltip="Back to the conversation; changes that are not saved are dropped at the second time",
        ),
    ]

    def __init__(self, known: Summarized, issue: Callable[[Command], None]) -> None:
        super().__init__()
        self._known = known
        self._issue = issue
        self._saving = False
        self._warned = False
        self._about = Label(id="about", markup=False)
        self._area = ClusteredArea(known.text, soft_wrap=True, compact=True, tab_behavior="focus")

    def compose(self) -> ComposeResult:
        """What it is about, the text, keys."""
        with Vertical(classes="panel"):
            yield Label("Summary", classes="title")
            yield self._about
            yield self._area
            yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Write at once."""
        self._area.cursor_blink = False
        self._area.focus()
        self._say(about(self._known))

    @property
    def changed(self) -> bool:
        """Whether something is written that is not saved."""
        return self._area.text != self._known.text

    def show(self, summary: Summarized) -> None:
        """A newer state of the summary has come."""
        keep = self.changed and not self._saving
        self._known, self._saving = summary, False
        if keep:
            self._say(f"The summary changed meanwhile; yours is not saved yet. {about(summary)}")
            return
        self._area.text = summary.text
        self._say(about(summary))

    def fail(self, error: str) -> None:
        """What was sent was not taken."""
        self._saving = False
        self._say(f"✗ {one_line(error)}")

    def action_save(self) -> None:
        """Replace the summary by what is written."""
        if not self._area.text.strip():
            self._say("An empty summary would forget these turns. Write something, or take a change back.")
        elif self.changed:
            self._saving = True
            self._say("saving …")
            self._issue(Summary(text=self._area.text))

    def action_undo(self) -> None:
        """Take the newest change back."""
        self._saving = True
        self._say("taking back …")
        self._issue(Summary(undo=True))

    def action_close(self) -> None:
        """Leave; with changes, at the second time."""
        if self.changed and not self._saving and not self._warned:
            self._warned = True
            self._say(
                hints.named(
                    self, "Not saved: ⟨summary.save⟩ saves, ⟨summary.close⟩ again drops your changes."
                )
            )
        else:
            self.dismiss(None)

    def _say(self, text: str) -> None:
        self._about.update(Content(text))


def about(summary: Summarized) -> str:
    """What a summary stands for and where it comes from."""
    if not summary.text:
        return "There is no summary yet: every turn stands word for word. /compact makes one."
    parts = [f"stands for {named(summary.turns)}", units.plural(summary.tokens, "token")]
    origin = "edited by you" if summary.edited else _ORIGINS.get(summary.origin, "")
    return " · ".join([*parts, *([origin] if origin else [])])
