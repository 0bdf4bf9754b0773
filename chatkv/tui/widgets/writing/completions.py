"""What the word that is being typed may become, above the composer. Not there for anything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Static

from chatkv.tui.inert import one_line

_LINES = 5
_LINES_WHEN_SHORT = 2
_NAME_CELLS = 24


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that may be meant. `typed` is what is to be written for it; empty: it is only explained."""

    title: str
    meaning: str
    typed: str = ""
    whole: bool = False
    """Nothing more has to be written behind it."""
    file: str = ""
    """The path of a file that it would attach."""


class Completions(Static):
    """Draws the offers, and which of them is chosen: by keys, else the first one is what Tab takes."""

    def __init__(self) -> None:
        super().__init__(id="completions")
        self._offers: tuple[Offer, ...] = ()
        self._more = ""
        self._at: int | None = None
        self.display = False

    @property
    def first(self) -> Offer | None:
        """What Tab takes."""
        offer = self._offers[self._at or 0] if self._offers else None
        return offer if offer is not None and offer.typed else None

    @property
    def chosen(self) -> Offer | None:
        """What Enter takes: only what was chosen by keys."""
        return None if self._at is None else self.first

    def offer(self, offers: Sequence[Offer], more: str = "") -> None:
        """Draw `offers`; `more` is said of those that do not fit."""
        if tuple(offers) == self._offers:
            return
        self._offers, self._more, self._at = tuple(offers), more, None
        self._draw()

    def move(self, steps: int) -> bool:
        """Choose the offer so many lines below; False where there is nothing to choose."""
        if len(self._offers) < 2:
            return False
        at = (0 if steps > 0 else -1) if self._at is None else self._at + steps
        self._at = at % len(self._offers)
        self._draw()
        return True

    def _draw(self) -> None:
        self.display = bool(self._offers)
        short = self.screen.has_class("-short")
        n_lines = _LINES_WHEN_SHORT if short else _LINES
        top = max(0, min((self._at or 0) - n_lines // 2, len(self._offers) - n_lines))
        bottom = min(len(self._offers), top + n_lines)
        lines = [_line(self._offers[at], _marked(at, self._at)) for at in range(top, bottom)]
        hidden = len(self._offers) - (bottom - top)
        rest = f"… {hidden} more{self._more}" if hidden > 0 and not short else ""
        self.update(Content("\n").join([*lines, Content.styled(rest, "dim")] if rest else lines))


def _marked(at: int, chosen: int | None) -> str:
    if chosen is None:
        return "bold" if at == 0 else ""
    return "bold reverse" if at == chosen else ""


def _line(offer: Offer, style: str) -> Content:
    title = Content(one_line(offer.title))
    gap = " " * max(1, _NAME_CELLS - title.cell_length)
    return Content.assemble(title.stylize(style), gap, (offer.meaning, "dim"))
