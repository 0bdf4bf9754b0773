"""The pieces of code in Markdown, exactly as they were written. Plain text in, plain text out."""

from __future__ import annotations

from markdown_it import MarkdownIt

from chatkv.tui.inert import inert

_KINDS = ("fence", "code_block")


def code_blocks(text: str) -> list[str]:
    """Every piece of code of `text` in the order in which it is shown, without its fences and what stands before its
    lines (the indentation in a list, the mark of a quote)."""
    shown = inert(text).split("\n")
    written = text.split("\n")
    blocks = []
    for token in MarkdownIt("commonmark", {"html": False}).parse("\n".join(shown)):
        if token.type in _KINDS and token.map is not None:
            first = token.map[0] + (token.type == "fence")
            lines = token.content.removesuffix("\n").split("\n")
            blocks.append("\n".join(_exact(line, first + n, shown, written) for n, line in enumerate(lines)))
    return blocks


def _exact(line: str, at: int, shown: list[str], written: list[str]) -> str:
    """What was written where `line` is shown: shown and written text agree character by character."""
    if at < len(shown) and line and shown[at].endswith(line):
        return written[at][-len(line) :]
    return line


def matching_block(blocks: list[str], number: int, begins: str) -> int | None:
    """Index of the piece whose shown text begins so: the one with this number (from 0) if several do."""
    fitting = [n for n, block in enumerate(blocks) if inert(block).startswith(begins)]
    return number if number in fitting else next(iter(fitting), None)
