"""One turn in the transcript: its number and mark, the question, what was recalled for it and thought (both folded),
the answer, and how it ended."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from chatkv.tui import units
from chatkv.tui.branches import Side
from chatkv.tui.exchange import RUNNING, Exchange, Mark, State
from chatkv.tui.inert import inert
from chatkv.tui.widgets.answer import Answer
from chatkv.tui.widgets.line import Line
from chatkv.tui.widgets.recollected import Recollected
from chatkv.tui.widgets.switcher import Switcher
from chatkv.tui.widgets.thoughts import Thoughts

_SIDES: tuple[Side, ...] = ("asked", "answered")
_PROMPT_LINES = 60
_PROMPT_CHARS = 6_000

_STATUS: dict[State, tuple[str, str]] = {
    "queued": ("◦ queued", "Esc takes it back"),
    "waiting": ("● waiting for the first token", ""),
    "stopped": ("■ stopped", "ctrl+g continues"),
    "length": ("… cut at the token limit", "ctrl+g continues"),
    "partial": ("◌ partial: its process ended before the answer did", "ctrl+g continues"),
    "error": ("✗ the answer failed", "ctrl+r tries again"),
    "context": ("▪ the context is full; the answer ends here", ""),
}
"""How a turn stands, and what can be done about it while it is the last one."""

_MARKS: dict[Mark, str] = {
    "verbatim": "",
    "summarized": "▿ summarized · ",
    "archived": "▫ archived · ",
    "pinned": "◆ pinned · ",
}
"""How a turn stands in the context. Word for word needs no word."""


def clipped(prompt: str) -> str:
    """`prompt` inert, and if it is very long only its beginning and how much more there is."""
    lines = prompt[:_PROMPT_CHARS].split("\n")[:_PROMPT_LINES]
    shown = "\n".join(lines)
    if len(shown) == len(prompt):
        return inert(prompt)
    total = f"{units.plural(prompt.count(chr(10)) + 1, 'line')}, {units.size(len(prompt.encode(errors='replace')))}"
    return f"{inert(shown)}\n… the whole message: {total}"


class TurnView(Vertical):
    """Draws an `Exchange`."""

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(classes=f"-{exchange.state}")
        self.exchange = exchange
        self._prompt = Static(Content(clipped(exchange.prompt)), classes="prompt")
        self._head = Line(headed(exchange), classes="head")
        self._recalled = Recollected(exchange.recalled) if exchange.recalled else None
        self._divider = Line(exchange.divider, classes="divider") if exchange.divider else None
        self._thoughts = Thoughts(exchange.thought) if exchange.thought else None
        self._answer = Answer(exchange.answer)
        self._status = Static(classes="status")
        self._is_last = self._is_marked = False
        self._switchers: dict[Side, Switcher] = {
            side: Switcher(exchange, side, keys=False) for side in _SIDES if getattr(exchange, side)
        }
        self._composed = False
        self._say()

    def compose(self) -> ComposeResult:
        """Mark, question, what was recalled, thoughts, answer, status."""
        yield self._head
        yield self._prompt
        if "asked" in self._switchers:
            yield self._switchers["asked"]
        if self._recalled is not None:
            yield self._recalled
        if self._thoughts is not None:
            yield self._thoughts
        yield self._answer
        if "answered" in self._switchers:
            yield self._switchers["answered"]
        yield self._status
        if self._divider is not None:
            yield self._divider

    def on_mount(self) -> None:
        """Catch up with what was said while its parts were being put together."""
        self._composed = True
        self._switch()

    def show(self, exchange: Exchange) -> None:
        """Redraw for a newer state of the same turn."""
        was, self.exchange = self.exchange, exchange
        self.remove_class(f"-{was.state}").add_class(f"-{exchange.state}")
        self._say()
        self._mark()
        if exchange.state not in RUNNING or not exchange.answer:
            self._answer.finish(exchange.answer)
            if self._thoughts is not None or exchange.thought:
                self._thinking().finish(exchange.thought)

    def remark(self, exchange: Exchange) -> None:
        """Redraw its marks only."""
        self.exchange = exchange
        self._mark()

    def set_last(self, is_last: bool) -> None:
        """Only the last turn says what can be done about it."""
        if is_last != self._is_last:
            self._is_last = is_last
            self._say()
            self._switch()

    def set_marked(self, is_marked: bool) -> None:
        """Keys about one turn are about this one."""
        if is_marked != self._is_marked:
            self._is_marked = is_marked
            self.set_class(is_marked, "-marked")
            self._switch()

    def stream(self, text: str, thought: bool) -> None:
        """More text has come; `flush` draws it."""
        if thought:
            self._thinking().add(text)
        else:
            self._answer.add(text)
            self._status.display = False

    def flush(self) -> None:
        """Draw what came since the last time."""
        if self._thoughts is not None:
            self._thoughts.flush()
        self._answer.flush()

    def _mark(self) -> None:
        exchange = self.exchange
        self._head.show(headed(exchange))
        if self._divider is not None:
            self._divider.show(exchange.divider)
            self._divider.display = bool(exchange.divider)
        elif exchange.divider:
            self._divider = Line(exchange.divider, classes="divider")
            self.mount(self._divider)
        if self._recalled is not None:
            self._recalled.show(exchange.recalled)
        elif exchange.recalled is not None:
            self._recalled = Recollected(exchange.recalled)
            self.mount(self._recalled, after=self._prompt)
        self._switch()

    def _switch(self) -> None:
        """The alternatives that there are now, with the keys where these are about this turn."""
        keys = self._is_marked or self._is_last
        places = {"asked": self._prompt, "answered": self._answer}
        for side in _SIDES:
            switcher = self._switchers.get(side)
            if switcher is not None:
                switcher.show_place(self.exchange, keys=keys)
            elif getattr(self.exchange, side):
                switcher = self._switchers[side] = Switcher(self.exchange, side, keys=keys)
            if switcher is not None and self._composed and switcher.parent is None:
                self.mount(switcher, after=places[side])

    def _thinking(self) -> Thoughts:
        if self._thoughts is None:
            self._thoughts = Thoughts("")
            self.mount(self._thoughts, before=self._answer)
        return self._thoughts

    def _say(self) -> None:
        words, hint = _spoken(self.exchange)
        spoken = f"{words} — {hint}" if hint and (self._is_last or self.exchange.state == "queued") else words
        self._status.update(Content(inert(spoken)))
        self._status.display = bool(spoken)


def headed(exchange: Exchange) -> str:
    """Mark and number of a turn; nothing for one that has not begun."""
    return f"{_MARKS[exchange.mark]}{exchange.turn}" if exchange.turn else ""


def _spoken(exchange: Exchange) -> tuple[str, str]:
    if exchange.state == "streaming":
        return ("", "") if exchange.answer else _STATUS["waiting"]
    words, hint = _STATUS.get(exchange.state, ("", ""))
    return (f"✗ {exchange.note}" if exchange.note else words), hint
