"""The choice of a model: those on this machine with their sizes, and a line to write another one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Label, OptionList
from textual.widgets.option_list import Option

from chatkv.tui import units
from chatkv.tui.held import Held
from chatkv.tui.inert import inert, one_line
from chatkv.tui.stock import Offer


def _key(keys: str, action: str, label: str, name: str, meaning: str, *, show: bool = False) -> Binding:
    return Binding(keys, action, label, id=f"models.{name}", priority=True, show=show, tooltip=meaning)


class ModelList(OptionList, can_focus=False):
    """The lines; keys are the screen's."""


class ModelScreen(ModalScreen[str | None]):
    """Leaves with what loads the chosen model, or None for no change. `offers` looks for what is here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("enter", "choose", "Choose", "choose", "Go on with the model that is marked", show=True),
        _key("o", "other", "Other", "other", "Write a hub id, a folder or a *.gguf file", show=True),
        _key("escape", "close", "Back", "close", "Leave the model as it is", show=True),
        _key("up", "move(-1)", "Up", "up", "Mark the one above"),
        _key("down", "move(1)", "Down", "down", "Mark the one below"),
    ]

    def __init__(self, offers: Callable[[], Awaitable[list[Offer]]], held: Held) -> None:
        super().__init__()
        self._look_for = offers
        self._held = held
        self._offers: list[Offer] = []
        self._list = ModelList(compact=True)

    def compose(self) -> ComposeResult:
        """What the session was held with, the list, the keys."""
        with Vertical(classes="panel"):
            yield Label("Models", classes="title")
            if self._held.name and (not self._held.loaded or self._held.differs):
                about = f"This session was held with {self._held.name}{self._held.whereabouts}."
                yield Label(Content(one_line(about)), id="about")
            yield self._list
            yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """The list comes as soon as it is read."""
        self._draw("reading …")
        self._read()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click chooses."""
        self.action_choose()

    def action_choose(self) -> None:
        """Leave with the marked model, or ask for another."""
        at = self._list.highlighted
        if at is not None and at < len(self._offers):
            self.dismiss(self._offers[at].spec)
        else:
            self.action_other()

    def action_other(self) -> None:
        """Ask for another; what the session was held with is the first guess where it is not here."""
        own = any(offer.own for offer in self._offers)
        self.app.push_screen(SpecScreen("" if own else self._held.spec), self._written)

    def action_close(self) -> None:
        """Leave without a wish."""
        self.dismiss(None)

    def action_move(self, steps: int) -> None:
        """Move the mark, not past the ends."""
        last = self._list.option_count - 1
        self._list.highlighted = max(0, min(last, (self._list.highlighted or 0) + steps))

    def _written(self, spec: str | None) -> None:
        if spec is not None:
            self.dismiss(spec)

    @work(group="models", exclusive=True)
    async def _read(self) -> None:
        self._offers = await self._look_for()
        self._draw("a hub id, a folder or a *.gguf file")

    def _draw(self, other: str) -> None:
        self._list.clear_options()
        lines = [_content(offer, answers=bool(self._held.loaded)) for offer in self._offers]
        lines.append(Content.assemble("  Other…", "\n", (f"  {other}", "dim")))
        self._list.add_options([Option(line) for line in lines])
        self._list.highlighted = 0


class SpecScreen(ModalScreen[str | None]):
    """Asks for a model in writing; leaves with None when there is to be no change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="spec.cancel", tooltip="Back to the list of models"),
    ]

    def __init__(self, first: str) -> None:
        super().__init__()
        self._first = first

    def compose(self) -> ComposeResult:
        """One line to write in."""
        with Vertical(classes="dialog"):
            yield Label("Another model", classes="question")
            yield Input(self._first, placeholder="org/name, ./folder or ./file.gguf", compact=True)
            yield Label("Enter loads it, from the hub if it is not here · Esc cancels", classes="detail")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Blank means nothing."""
        self.dismiss(event.value.strip() or None)

    def action_cancel(self) -> None:
        """Leave without a wish."""
        self.dismiss(None)


def _content(offer: Offer, *, answers: bool) -> Content:
    """Two lines: what loads it; what it is, how large. `answers`: the one of the worker is ready."""
    notes = ["this session's own"] if offer.own else []
    if offer.loaded:
        notes.append("loaded" if answers else "being loaded")
    if offer.nbytes:
        notes.append(units.size(offer.nbytes))
    elif offer.spec == "starter":
        notes.append("fetched when it is chosen")
    mark = "● " if offer.loaded else "  "
    return Content.assemble(f"{mark}{inert(one_line(offer.spec))}", "\n", (f"  {' · '.join(notes)}", "dim"))
