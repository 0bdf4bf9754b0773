"""One turn in the transcript: its number and mark, the question, what was recalled for it and thought (both folded),
the answer, and how it ended."""

from __future__ import annotations

import itertools

from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Static

from chatkv.tui import units
from chatkv.tui.inert import inert
from chatkv.tui.prose.seeking import Part
from chatkv.tui.talk.branches import Side
from chatkv.tui.talk.exchange import RUNNING, Exchange, State
from chatkv.tui.widgets.hints import named
from chatkv.tui.widgets.line import Line
from chatkv.tui.widgets.talk.answer import Answer
from chatkv.tui.widgets.talk.head import Head
from chatkv.tui.widgets.talk.recollected import Recollected
from chatkv.tui.widgets.talk.sought import Seekable, Sought
from chatkv.tui.widgets.talk.switcher import Switcher
from chatkv.tui.widgets.talk.thoughts import Thoughts
from chatkv.tui.widgets.talk.turn_focus import TurnFocus

_SIDES: tuple[Side, ...] = ("asked", "answered")
_PROMPT_LINES = 60
_PROMPT_CHARS = 6_000

_STATUS: dict[State, tuple[str, str]] = {
    "queued": ("◦ queued", "⟨chat.stop⟩ takes it back"),
    "waiting": ("● waiting for the first token", ""),
    "stopped": ("■ stopped", "⟨chat.extend⟩ continues"),
    "length": ("… cut at the token limit", "⟨chat.extend⟩ continues"),
    "partial": ("◌ partial: its process ended before the answer did", "⟨chat.extend⟩ continues"),
    "error": ("✗ the answer failed", "⟨chat.regenerate⟩ tries again"),
    "context": ("▪ the context is full; the answer ends here", "/compact makes room, then ⟨chat.regenerate⟩"),
}
"""How a turn stands, and what can be done about it while it is the last one."""


def clipped(prompt: str) -> str:
    """`prompt` inert, and if it is very long only its beginning and how much more there is."""
    lines = prompt[:_PROMPT_CHARS].split("\n")[:_PROMPT_LINES]
    shown = "\n".join(lines)
    if len(shown) == len(prompt):
        return inert(prompt)
    total = f"{units.plural(prompt.count(chr(10)) + 1, 'line')}, {units.size(len(prompt.encode(errors='replace')))}"
    return f"{inert(shown)}\n… the whole message: {total}"


class TurnView(TurnFocus):
    """Draws an `Exchange`."""

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)
    """Growing is no reason for a second layout: the first one has put everything into its place."""

    def __init__(self, exchange: Exchange, *, unfolded: bool = False) -> None:
        """`unfolded`: its thoughts are."""
        super().__init__(exchange.key, classes=f"-{exchange.state}")
        self.exchange = exchange
        self._prompt = Sought(Content(clipped(exchange.prompt)), classes="prompt")
        self._head = Head(exchange)
        self._recalled = Recollected(exchange.recalled, keyed=True) if exchange.recalled else None
        self._divider = Line(exchange.divider, classes="divider") if exchange.divider else None
        self._unfolded = unfolded
        self._thoughts = Thoughts(exchange.thought, unfolded=unfolded) if exchange.thought else None
        self._answer = Answer(exchange.answer)
        self._status = Static(classes="status")
        self._is_last = False
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
            self._head.show(self.exchange, marked=is_marked)
            self._switch()

    def stream(self, text: str, thought: bool) -> None:
        """More text has come; `flush` draws it."""
        if thought:
            self._thinking().add(text)
            self._status.display = False
        else:
            self._answer.add(text)
            self._status.display = False

    def flush(self) -> None:
        """Draw what came since the last time."""
        if self._thoughts is not None:
            self._thoughts.flush()
        self._answer.flush()

    # Folds

    @property
    def thoughts_unfolded(self) -> bool:
        """Whether what was thought is unfolded, or would be."""
        return self._unfolded if self._thoughts is None else not self._thoughts.collapsed

    def fold_thoughts(self, *, unfolded: bool) -> None:
        """Fold or unfold what was thought, and what will be."""
        self._unfolded = unfolded
        if self._thoughts is not None:
            self._thoughts.collapsed = not unfolded

    def toggle_recalled(self) -> None:
        """Fold or unfold what was recalled."""
        if self._recalled is not None:
            self._recalled.collapsed = not self._recalled.collapsed

    # Found words

    def seek(self, needle: str) -> None:
        """Let these (folded) words stand out."""
        for part in self._parts().values():
            part.seek(needle)

    def locate(self, needle: str, part: Part, nth: int, depth: float) -> int | None:
        """Let the `nth` occurrence in a part stand out most, and tell its line of the turn; None while that is not
        laid out. Where it cannot be seen as such, it is the line that is `depth` of the part down."""
        widget = self._parts().get(part)
        if part == "thought" and self._thoughts is not None:
            self._thoughts.collapsed = False
        if widget is None or not widget.size.height:
            return None
        lines = widget.lines_with(needle)
        line = lines[nth] if nth < len(lines) else int(depth * widget.size.height)
        for other in self._parts().values():
            other.seek(needle, line if other is widget else None)
        return widget.virtual_region.y + self._above(widget) + line

    def _above(self, widget: Seekable) -> int:
        """Lines between the top of the turn and that of the widget's parent."""
        above = itertools.takewhile(lambda node: node is not self, widget.ancestors)
        return sum(node.virtual_region.y for node in above if isinstance(node, Widget))

    def _parts(self) -> dict[Part, Seekable]:
        parts: dict[Part, Seekable] = {"prompt": self._prompt, "answer": self._answer}
        return parts if self._thoughts is None else {**parts, "thought": self._thoughts.body}

    def _mark(self) -> None:
        exchange = self.exchange
        self._head.show(exchange, marked=self._is_marked)
        if self._divider is not None:
            self._divider.show(exchange.divider)
            self._divider.display = bool(exchange.divider)
        elif exchange.divider:
            self._divider = Line(exchange.divider, classes="divider")
            self.mount(self._divider)
        if self._recalled is not None:
            self._recalled.show(exchange.recalled)
        elif exchange.recalled is not None:
            self._recalled = Recollected(exchange.recalled, keyed=True)
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
            self._thoughts = Thoughts("", unfolded=self._unfolded)
            self.mount(self._thoughts, before=self._answer)
        return self._thoughts

    def _say(self) -> None:
        words, hint = _spoken(self.exchange)
        hint = named(self, hint)
        spoken = f"{words} — {hint}" if hint and (self._is_last or self.exchange.state == "queued") else words
        self._status.update(Content(inert(spoken)))
        self._status.display = bool(spoken)


def _spoken(exchange: Exchange) -> tuple[str, str]:
    if exchange.state == "streaming":
        return ("", "") if exchange.answer or exchange.thought else _STATUS["waiting"]
    words, hint = _STATUS.get(exchange.state, ("", ""))
    return (f"✗ {exchange.note}" if exchange.note else words), hint
