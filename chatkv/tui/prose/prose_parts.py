"""The parts of Markdown that look other than Rich's: headings, code, rules, numbered lists, tables that do not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, ListItem, Markdown, TableElement
from rich.measure import Measurement
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from chatkv.tui.widgets.talk.head import CODE_META

_LEAST_CELLS = 12
"""A table whose columns would be narrower on the average is written row by row instead."""

COPY = "❐ copy"
_KNOWN_BY_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of prose, taken from the stylesheet by the widget that shows it."""

    heading: Style
    code: Style
    block: Style
    quote: Style
    bullet: Style
    link: Style
    code_theme: str
    """Name of a Pygments style."""

    def theme(self) -> Theme:
        """The palette as Rich's style names."""
        styles = {f"markdown.h{level}": self.heading for level in range(1, 7)}
        styles["markdown.code"] = self.code
        styles["markdown.block_quote"] = self.quote
        for name in ("item.bullet", "item.number", "hr", "table.border", "list"):
            styles[f"markdown.{name}"] = self.bullet
        styles["markdown.table.header"] = self.heading
        styles["markdown.link"] = styles["markdown.link_url"] = self.link
        return Theme(styles, inherit=True)


class CodeCounter(Markdown):
    """Markdown that numbers its pieces of code while it is drawn."""

    palette: Palette

    def next_number(self) -> int | None:
        """The number of the next piece of code; None for one that goes on from what stands above."""
        raise NotImplementedError


class LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class Code(CodeBlock):
    """Code on a ground of its own under a line with its language and a place to click, without padding, so that pieces
    of one block join."""

    palette: Palette
    language = ""
    number: int | None = None
    """Which piece of code it is, from 0; None for one that goes on from the piece before it."""

    @classmethod
    def create(cls, markdown: Markdown, token: object) -> Code:
        assert isinstance(markdown, CodeCounter)
        language = str(getattr(token, "info", "") or "").partition(" ")[0]
        block = cls(language or "text", markdown.palette.code_theme)
        block.palette, block.language = markdown.palette, language
        block.number = markdown.next_number()
        return block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        ground = self.palette.block.bgcolor
        code = str(self.text).removesuffix("\n")
        if self.number is not None:
            yield self._title(self.number, code, options.max_width)
        yield Syntax(
            code,
            self.lexer_name,
            theme=self.theme,
            word_wrap=True,
            padding=(0, 1),
            background_color=ground.name if ground else "default",
        )

    def _title(self, number: int, code: str, width: int) -> Text:
        """The language, and at the right the place to click. Its meta data say which code."""
        quiet = self.palette.bullet + self.palette.block
        language = self.language[: max(0, width - len(COPY) - 3)]
        title = Text(f" {language}", style=quiet, end="\n", no_wrap=True)
        title.pad_right(max(0, width - cell_len(title.plain) - len(COPY) - 1))
        click = Style(meta={CODE_META: (number, code[:_KNOWN_BY_CHARS])})
        return title.append(COPY, style=click).append(" ")


class Line(HorizontalRule):
    """A rule as one line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style=console.get_style("markdown.hr", default="none"), characters="─")
        yield Text()


class Item(ListItem):
    """An item of a list; numbers with a dot."""

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        """The number, and the text beside it."""
        width = len(str(last_number)) + 3
        style = console.get_style("markdown.item.number", default="none")
        lines = console.render_lines(self.elements, options.update(width=max(1, options.max_width - width)))
        for n, line in enumerate(lines):
            yield Segment(" " * width if n else f"{number}. ".rjust(width), style)
            yield from line
            yield Segment("\n")


class FoldedTable(TableElement):
    """A table in which no word is lost: long ones are folded, and where columns get too narrow, each row is a list."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        header = [cell.content for cell in self.header.row.cells] if self.header and self.header.row else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        table = Table(
            box=box.SIMPLE,
            pad_edge=False,
            style="markdown.table.border",
            show_edge=False,
            collapse_padding=True,
        )
        for text in header:
            heading = text.copy()
            heading.stylize("markdown.table.header")
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*row)
        wanted = Measurement.get(console, options.update(width=10_000), table).maximum
        if wanted <= options.max_width or options.max_width >= _LEAST_CELLS * len(header):
            yield table
            return
        for n, row in enumerate(rows):
            if n:
                yield Text("─" * min(3, options.max_width), style="markdown.table.border")
            for heading, text in zip(header, row, strict=False):
                yield Text.assemble((heading.plain, "markdown.table.header"), ": ", text, overflow="fold")
