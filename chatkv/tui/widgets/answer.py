"""An answer: while it streams, finished blocks once and the open one again and again; when done, one renderable."""

from __future__ import annotations

import time
from typing import ClassVar

from rich.style import Style
from textual.containers import Vertical
from textual.widgets import Static

from chatkv.tui.blocks import Block, BlockSplitter
from chatkv.tui.inert import inert
from chatkv.tui.widgets.prose import Palette, Prose

_COST_SHARE = 4
"""An open block that takes long to draw is drawn less often: at most this fraction of the time goes into it."""


class Answer(Vertical):
    """Shows Markdown that may still grow."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "answer--heading",
        "answer--code",
        "answer--block",
        "answer--quote",
        "answer--bullet",
        "answer--link",
    }

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._text = text
        self._splitter = BlockSplitter()
        self._tail: Static | None = None
        self._fresh = ""
        self._rest_until = 0.0

    def on_mount(self) -> None:
        """Draw what is there; colours are known only now."""
        if self._text:
            self.mount(Static(Prose(inert(self._text), self._palette()), classes="prose"))

    def add(self, text: str) -> None:
        """More text has come; `flush` draws it."""
        self._fresh += text

    def flush(self) -> bool:
        """Draw what came since the last time; True if something was drawn."""
        began = time.perf_counter()
        if not self._fresh or began < self._rest_until:
            return False
        fresh, self._fresh = self._fresh, ""
        if self._text and self._tail is None:
            self._splitter.feed(inert(self._text))
            self.remove_children()
        self._text += fresh
        for block in self._splitter.feed(inert(fresh)):
            self._draw(block)
            self._tail = None
        if self._splitter.tail.source:
            self._draw(self._splitter.tail)
        took_s = time.perf_counter() - began
        self._rest_until = time.perf_counter() + took_s * _COST_SHARE
        return True

    def finish(self, text: str) -> None:
        """The answer is `text` and stays so: one renderable takes the place of the pieces."""
        if text == self._text and self._tail is None and not self._fresh:
            return
        self._text, self._fresh, self._tail = text, "", None
        self._splitter = BlockSplitter()
        self.remove_children()
        if text:
            self.mount(Static(Prose(inert(text), self._palette()), classes="prose"))

    def _draw(self, block: Block) -> None:
        prose = Prose(block.source, self._palette())
        if self._tail is None:
            joined = " -joined" if block.joined or not self.children else ""
            self._tail = Static(prose, classes="prose" + joined)
            self.mount(self._tail)
        else:
            self._tail.update(prose)

    def _palette(self) -> Palette:
        def style(name: str) -> Style:
            return self.get_component_rich_style(f"answer--{name}", partial=True)

        return Palette(
            heading=style("heading"),
            code=style("code"),
            block=style("block"),
            quote=style("quote"),
            bullet=style("bullet"),
            link=style("link"),
            code_theme="github-dark" if self.app.current_theme.dark else "friendly",
        )
