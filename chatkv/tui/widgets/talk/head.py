"""The line above a turn: how it stands in the context, its number and, while it is marked, what can be copied."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widgets import Label

from chatkv.tui.messages import Copied, CopyWanted
from chatkv.tui.talk.exchange import Exchange, Mark

_MARKS: dict[Mark, tuple[str, str]] = {
    "verbatim": ("", "Word for word in the context."),
    "summarized": ("▿ summarized · ", "No longer word for word in the context: the summary speaks for it."),
    "archived": ("▫ archived · ", "No longer in the context: kept, searched, and recalled where it fits."),
    "pinned": ("◆ pinned · ", "Stays word for word in the context, whatever is summarized."),
}
"""How a turn stands in the context, in words and as an explanation. Word for word needs no word."""

CODE_META = "code"
"""Under this name, what is clicked to copy code carries its number and its beginning."""

_META = "copy"
_COPIES: tuple[tuple[str, Copied], ...] = (("❐ question", "question"), ("❐ answer", "answer"))
_CLIPBOARD = "A click on ❐ copies through the terminal (OSC 52), over ssh too where the terminal allows it."


class Head(Label):
    """Draws mark and number of a turn."""

    def __init__(self, exchange: Exchange) -> None:
        super().__init__("", classes="head")
        self._shown: tuple[object, ...] = ()
        self.show(exchange, marked=False)

    def show(self, exchange: Exchange, *, marked: bool) -> None:
        """Draw them; `marked`: with what can be copied."""
        self._key = exchange.key
        shown = (
            exchange.turn,
            exchange.mark,
            marked and bool(exchange.prompt),
            marked and bool(exchange.answer),
        )
        if shown == self._shown:
            return
        self._shown = shown
        parts: list[Content | tuple[str, Style]] = []
        for (label, what), offered in zip(_COPIES, shown[2:], strict=True):
            if offered:
                parts += [(label, Style.from_meta({_META: what})), Content("  ")]
        mark, meaning = _MARKS[exchange.mark]
        number = f"{mark}{exchange.turn}" if exchange.turn else ""
        self.update(Content.assemble(*parts, Content(number)), layout=False)
        self.tooltip = f"{meaning} {_CLIPBOARD if marked else ''}".rstrip() if exchange.turn else None

    def on_click(self, event: events.Click) -> None:
        """Copy what was clicked; elsewhere it is a click on the turn."""
        what = event.style.meta.get(_META)
        if what in ("question", "answer"):
            event.stop()
            self.post_message(CopyWanted(what, self._key))
