"""The choice of a model: those on this machine, what they take and whether they fit, a few others, and a line to write
one of one's own."""

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

from chatkv.models.shape import Shape
from chatkv.tui import units
from chatkv.tui.behind.room import NO_ROOM, Room
from chatkv.tui.behind.stock import Offer, on_the_hub
from chatkv.tui.inert import inert, one_line
from chatkv.tui.talk.held import Held
from chatkv.tui.widgets.hints import named
from chatkv.tui.widgets.inert_input import InertInput


def _key(keys: str, action: str, label: str, name: str, meaning: str, *, show: bool = False) -> Binding:
    return Binding(keys, action, label, id=f"models.{name}", priority=True, show=show, tooltip=meaning)


class ModelList(OptionList, can_focus=False):
    """The lines; keys are the screen's."""


class ModelScreen(ModalScreen[str | None]):
    """Leaves with what loads the chosen model, or None for no change. `offers` looks for what is here, `room` for the
    memory there is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("enter", "choose", "Choose", "choose", "Go on with the model that is marked", show=True),
        _key("o", "other", "Other", "other", "Write a hub id, a folder or a *.gguf file", show=True),
        _key("escape", "close", "Back", "close", "Leave the model as it is", show=True),
        _key("up", "move(-1)", "Up", "up", "Mark the one above"),
        _key("down", "move(1)", "Down", "down", "Mark the one below"),
    ]

    def __init__(
        self, offers: Callable[[], Awaitable[list[Offer]]], room: Callable[[], Awaitable[Room]], held: Held
    ) -> None:
        super().__init__()
        self._look_for, self._measure = offers, room
        self._held = held
        self._room = NO_ROOM
        self._offers: list[Offer] = []
        self._lines: list[Offer | None] = []
        """What each line of the list chooses; None = another one."""
        self._free = Label(id="free")
        self._list = ModelList(compact=True)

    def compose(self) -> ComposeResult:
        """What the session was held with, the list, the keys."""
        with Vertical(classes="panel"):
            yield Label("Models", classes="title")
            if self._held.name and (not self._held.loaded or self._held.differs):
                about = f"This session was held with {self._held.name}{self._held.whereabouts}."
                yield Label(Content(one_line(about)), id="about")
            yield self._free
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
        offer = self._lines[at] if at is not None and at < len(self._lines) else None
        if offer is not None:
            self.dismiss(offer.spec)
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
        """Move the mark over the heading, not past the ends."""
        places = [
            at for at in range(self._list.option_count) if not self._list.get_option_at_index(at).disabled
        ]
        now = self._list.highlighted
        index = places.index(now) if now in places else 0
        self._list.highlighted = places[max(0, min(len(places) - 1, index + steps))]

    def _written(self, spec: str | None) -> None:
        if spec is not None:
            self.dismiss(spec)

    @work(group="models", exclusive=True)
    async def _read(self) -> None:
        self._offers, self._room = await self._look_for(), await self._measure()
        self._draw("a hub id, a folder or a *.gguf file")

    def _draw(self, other: str) -> None:
        """Those that are here, another one, and under a heading some that would fit."""
        answers = bool(self._held.loaded)
        options = [Option(_content(offer, self._room, answers=answers)) for offer in self._offers]
        options.append(Option(Content.assemble("  Other…", "\n", (f"  {other}", "$text-muted"))))
        self._lines = [*self._offers, None]
        if hub := on_the_hub(self._room, self._offers):
            heading = "On the Hugging Face hub, and would fit here, by approximate figures"
            options += [Option(Content.assemble("\n", (heading, "bold")), disabled=True)]
            options += [Option(_content(offer, self._room, answers=answers)) for offer in hub]
            self._lines += [None, *hub]
        if self._room.known:
            free = f"About {units.size(self._room.nbytes)} of {self._room.where} for a model and its KV."
            self._free.update(Content(free))
        self._free.display = self._room.known
        self._list.clear_options()
        self._list.add_options(options)
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
            yield InertInput(self._first, placeholder="org/name, ./folder or ./file.gguf", compact=True)
            hint = "Enter loads it, from the hub if it is not here · ⟨spec.cancel⟩ cancels"
            yield Label(Content(named(self, hint)), classes="detail")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Blank means nothing."""
        self.dismiss(event.value.strip() or None)

    def action_cancel(self) -> None:
        """Leave without a wish."""
        self.dismiss(None)


def _content(offer: Offer, room: Room, *, answers: bool) -> Content:
    """Two lines: what loads it; what it is, how large, and how much fits. `answers`: the one of the worker is ready."""
    notes = ["this session's own"] if offer.own else []
    if offer.loaded:
        notes.append("loaded" if answers else "being loaded")
    if offer.about:
        notes.append(f"fetches {units.size(offer.shape.weights_nbytes)}")
    elif offer.nbytes:
        notes.append(units.size(offer.nbytes))
    elif offer.spec == "starter":
        notes.append("fetched when it is chosen")
    notes += taken(offer.shape, room)
    name = f"{'●' if offer.loaded else ' '} {inert(one_line(offer.spec))}"
    about = f"  {offer.about}" if offer.about else ""
    return Content.assemble(name, (about, "$text-muted"), "\n", (f"  {' · '.join(notes)}", "$text-muted"))


def taken(shape: Shape, room: Room) -> list[str]:
    """What a model of this shape takes, and whether it fits, in clauses."""
    clauses = [f"KV {units.size(shape.kv_nbytes)} / token"] if shape.kv_nbytes else []
    if not room.known or not shape.weights_nbytes:
        return clauses
    tokens = shape.tokens_in(room.nbytes)
    if tokens < 0:
        return [*clauses, f"does not fit: needs {units.size(shape.weights_nbytes)}"]
    if tokens and tokens == shape.context:
        return [*clauses, f"fits, all {tokens:,} tokens"]
    return [*clauses, f"fits, about {units.compact(tokens)} tokens"] if tokens else clauses
