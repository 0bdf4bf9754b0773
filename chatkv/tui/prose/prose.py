"""Markdown as chatkv shows it: left-aligned, quiet, code highlighted, links and HTML inert.

A Rich renderable, since many finished answers as one renderable each are far cheaper than as trees of widgets.
"""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, MarkdownElement

from chatkv.tui.prose.markdown import parsed
from chatkv.tui.prose.prose_parts import (
    Code,
    CodeCounter,
    FoldedTable,
    Item,
    LeftHeading,
    Line,
    Palette,
)

__all__ = ["Palette", "Prose"]


class Prose(CodeCounter):
    """`source` (already inert) as a renderable in the colours of `palette`."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": LeftHeading,
        "fence": Code,
        "code_block": Code,
        "hr": Line,
        "list_item_open": Item,
        "table_open": FoldedTable,
    }

    def __init__(self, source: str, palette: Palette, *, joined: bool = False) -> None:
        """`joined`: it begins with code that goes on from what stands above it."""
        super().__init__("", hyperlinks=False)
        self.markup = source
        self.parsed = parsed(source)
        self.palette = palette
        self._joined = joined
        self._n_code = 0

    def next_number(self) -> int | None:
        """The number of the next piece of code while it is drawn."""
        self._n_code += 1
        return None if self._joined and self._n_code == 1 else self._n_code - 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self._n_code = 0
        with console.use_theme(self.palette.theme()):
            yield from super().__rich_console__(console, options)
