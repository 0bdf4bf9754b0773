"""An answer: while it streams, finished blocks once and the open one again and again; when done, one renderable."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.widgets import Static

from chatkv.tui.inert import inert

if TYPE_CHECKING:
    from rich.style import Style

    from chatkv.tui.blocks import Block, BlockSplitter
    from chatkv.tui.widgets.prose import Prose

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
        self._splitter: BlockSplitter | None = None
        self._tail: Static | None = None
        self._fresh = ""
        self._rest_until = 0.0
        self._drawn = False
        """Whether it is on the screen; before that its colours are not known."""

    def on_mount(self) -> None:
        """Draw what is there."""
        self._drawn = True
        if self._text:
            self.mount(Static(self._prose(inert(self._text)), classes="prose"))

    def add(self, text: str) -> None:
        """More text has come; `flush` draws it."""
        self._fresh += text

    def flush(self) -> None:
        """Draw what came since the last time, unless drawing takes too much of the time."""
        began = time.perf_counter()
        if not self._fresh or not self._drawn or began < self._rest_until:
            return
        fresh, self._fresh = self._fresh, ""
        splitter = self._opened()
        self._text += fresh
        for block in splitter.feed(inert(fresh)):
            self._draw(block)
            self._tail = None
        if splitter.tail.source:
            self._draw(splitter.tail)
        now = time.perf_counter()
        self._rest_until = now + (now - began) * _COST_SHARE

    def finish(self, text: str) -> None:
        """The answer is `text` and stays so: one renderable takes the place of the pieces."""
        if text == self._text and self._splitter is None and not self._fresh:
            return
        if not self._drawn:
            self._text, self._fresh = text, ""
            return
        self._text, self._fresh, self._tail, self._splitter = text, "", None, None
        self.remove_children()
        if text:
            self.mount(Static(self._prose(inert(text)), classes="prose"))

    def _opened(self) -> BlockSplitter:
        """The splitter; of an answer that was finished and goes on, what is there is drawn as blocks again."""
        from chatkv.tui.blocks import BlockSplitter

        if self._splitter is None:
            self._splitter = BlockSplitter()
            self.remove_children()
            for block in self._splitter.feed(inert(self._text)):
                self._draw(block)
                self._tail = None
        return self._splitter

    def _draw(self, block: Block) -> None:
        prose = self._prose(block.source)
        if self._tail is None:
            self._tail = Static(prose, classes="prose -joined" if block.joined else "prose")
            self.mount(self._tail)
        else:
            self._tail.update(prose)

    def _prose(self, source: str) -> Prose:
        # Markdown and highlighting are not needed for the first paint, and take a third as long to import as it does.
        from chatkv.tui.widgets.prose import Palette, Prose

        def style(name: str) -> Style:
            return self.get_component_rich_style(f"answer--{name}", partial=True)

        palette = Palette(
            heading=style("heading"),
            code=style("code"),
            block=style("block"),
            quote=style("quote"),
            bullet=style("bullet"),
            link=style("link"),
            code_theme="github-dark" if self.app.current_theme.dark else "friendly",
        )
        return Prose(source, palette)
