"""Markdown as chatkv shows it: left-aligned, quiet, code highlighted, links and HTML inert.

A Rich renderable, since many finished answers as one renderable each are far cheaper than as trees of widgets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.style import Style
from rich.syntax import Syntax
from rich.theme import Theme

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


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


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _CodeBlock(CodeBlock):
    """Code on a ground of its own, without padding above and below, so that pieces of one block join."""

    palette: Palette

    @classmethod
    def create(cls, markdown: Markdown, token: object) -> _CodeBlock:
        assert isinstance(markdown, Prose)
        language = str(getattr(token, "info", "") or "").partition(" ")[0]
        block = cls(language or "text", markdown.palette.code_theme)
        block.palette = markdown.palette
        return block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        ground = self.palette.block.bgcolor
        yield Syntax(
            str(self.text).removesuffix("\n"),
            self.lexer_name,
            theme=self.theme,
            word_wrap=True,
            padding=(0, 1),
            background_color=ground.name if ground else "default",
        )


class Prose(Markdown):
    """`source` (already inert) as a renderable in the colours of `palette`."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }

    def __init__(self, source: str, palette: Palette) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = source
        self.parsed = _PARSER.parse(source)
        self.palette = palette

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with console.use_theme(self.palette.theme()):
            yield from super().__rich_console__(console, options)
