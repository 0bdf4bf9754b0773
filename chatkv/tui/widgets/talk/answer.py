"""An answer: Markdown that may still grow. One widget of lines, since a tree is laid out anew for every token."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.strip import Strip

from chatkv.tui.inert import inert
from chatkv.tui.widgets.talk.sought import Seekable

if TYPE_CHECKING:
    from textual.selection import Selection

    from chatkv.tui.prose.blocks import Block, BlockSplitter
    from chatkv.tui.prose.prose import Palette
    from chatkv.tui.widgets.talk.sheet import Sheet


class Answer(Seekable):
    """Shows Markdown. What changes is drawn; the screen is laid out anew only when there are more lines than before."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "answer--heading",
        "answer--code",
        "answer--block",
        "answer--quote",
        "answer--bullet",
        "answer--link",
    }

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)
    """Growing is no reason for a second layout, nor for drawing what stayed the same."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._text = text
        self._fresh = ""
        self._splitter: BlockSplitter | None = None
        self._sheet: Sheet | None = None
        self._look: tuple[Palette, Style] | None = None

    def add(self, text: str) -> None:
        """More text has come; `flush` draws it."""
        self._fresh += text

    def flush(self) -> None:
        """Draw what came since the last time."""
        if not self._fresh:
            return
        fresh, self._fresh = self._fresh, ""
        if self._splitter is None:
            self._begin_again()
        self._text += fresh
        assert self._splitter is not None
        assert self._sheet is not None
        self._sheet.put(self._splitter.feed(inert(fresh)), self._splitter.open)
        self._redraw()

    def finish(self, text: str) -> None:
        """The answer is `text` and stays so: it is drawn as a whole."""
        if text == self._text and self._splitter is None and not self._fresh:
            return
        self._text, self._fresh, self._splitter, self._sheet = text, "", None, None
        self.refresh(layout=True)

    def notify_style_update(self) -> None:
        """Draw anew, should the colours be others now."""
        super().notify_style_update()
        if self._look is not None and self._look != (look := self._looked()):
            self._look = look
            if self._sheet is not None:
                self._sheet.forget()
                self._redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the text has at this width."""
        if not (self._text or self._sheet) or width <= 0:
            return 0
        sheet = self._sheeted()
        sheet.lay(width, self._drawn)
        return len(sheet.lines)

    def render_line(self, y: int) -> Strip:
        """One line of it, `y` from the top, with what is selected."""
        if (
            self._sheet is None and self._text and self.size.width
        ):  # finished, and drawn before it is laid out anew
            self._sheeted().lay(self.size.width, self._drawn)
        lines = self._sheet.lines if self._sheet else []
        ground = self._look[1] if self._look else None
        if y >= len(lines):
            return Strip.blank(self.size.width, ground)
        line = lines[y]
        span = selection.get_span(y) if (selection := self.text_selection) else None
        if span is not None:
            line = self._selected(line, *span)
        return line.apply_offsets(0, y).adjust_cell_length(self.size.width, ground)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, as it is drawn."""
        lines = self._sheet.lines if self._sheet else []
        return selection.extract("\n".join(line.text.rstrip() for line in lines)), "\n"

    def _begin_again(self) -> None:
        """Blocks from now on; of an answer that was finished and goes on, what is there too."""
        from chatkv.tui.prose.blocks import BlockSplitter
        from chatkv.tui.widgets.talk.sheet import Sheet

        self._splitter, self._sheet = BlockSplitter(), Sheet()
        self._sheet.put(self._splitter.feed(inert(self._text)), ())

    def _redraw(self) -> None:
        """Draw the lines that changed, and lay out where their number did."""
        width = self.size.width
        if not width or self._sheet is None:
            self.refresh(layout=True)
            return
        before = len(self._sheet.lines)
        changed = self._sheet.lay(width, self._drawn)
        grown = len(self._sheet.lines) != before
        regions = [Region(0, y, width, 1) for y in changed]
        if grown or regions:
            self.refresh(*regions, layout=grown)

    def _sheeted(self) -> Sheet:
        """The sheet in the colours of now; of a finished answer, all of it as one block."""
        from chatkv.tui.prose.blocks import Block
        from chatkv.tui.widgets.talk.sheet import Sheet

        if self._sheet is None:
            self._sheet = Sheet()
            self._sheet.put([Block(inert(self._text))], ())
        return self._sheet

    def _drawn(self, block: Block, width: int) -> list[Strip]:
        # Markdown and highlighting are not needed for the first paint, and take a third as long to import as it does.
        from chatkv.tui.prose.prose import Prose

        palette, ink = self._look = self._look or self._looked()
        options = self.app.console_options.update(highlight=False, width=width, height=None)
        prose = Prose(block.source, palette, joined=block.joined)
        segments = Segment.apply_style(self.app.console.render(prose, options), ink)
        lines = Segment.split_and_crop_lines(segments, width, include_new_lines=False, pad=False)
        return [Strip(line) for line in lines]

    def _looked(self) -> tuple[Palette, Style]:
        """The colours of now: of what is marked up, and of all else."""
        from chatkv.tui.prose.prose import Palette

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
        return palette, Style(color=self.rich_style.color, bgcolor=self.rich_style.bgcolor)

    def _selected(self, line: Strip, start: int, end: int) -> Strip:
        """The line with its characters from `start` to `end` (-1 = the last) marked."""
        style = self.screen.get_component_rich_style("screen--selection")
        first = cell_len(line.text[:start])
        behind = line.cell_length if end == -1 else max(first, cell_len(line.text[:end]))
        marked = Strip(Segment.apply_style(line.crop(first, behind), post_style=style))
        return Strip.join([line.crop(0, first), marked, line.crop(behind, None)])
