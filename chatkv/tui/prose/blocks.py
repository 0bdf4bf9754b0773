"""Cuts Markdown that is still arriving into blocks that can no longer change and open ones that can.

Lets the screen render each block once, so that the cost of a token does not grow with the answer. Plain text in,
plain text out; knows nothing of widgets.
"""

from __future__ import annotations

from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

_FENCE_LINES = 40
"""A code block still open is cut after this many lines, so that highlighting it stays cheap."""


@dataclass(frozen=True, slots=True)
class Block:
    """Markdown that renders on its own."""

    source: str
    joined: bool = False
    """Goes on from the block before it (one code block in two pieces): no gap between them."""


class BlockSplitter:
    """Feed text as it arrives; take finished blocks out; the rest is `tail`, or `open` in pieces."""

    def __init__(self) -> None:
        self._parser = MarkdownIt("commonmark").enable("table")
        self._pending = ""
        self._fence = ""
        """Opening line of the code block that `_pending` goes on with; empty outside of one."""
        self._settled = ""
        """The part of the tail's source that can be drawn alone: whole lines of code, whole items of a list."""
        self._reopens = ""
        """What the rest of the tail needs in front, to be drawn alone."""

    @property
    def tail(self) -> Block:
        """What may still change. Its source may be empty."""
        return Block(self._fence + self._pending, joined=bool(self._fence))

    @property
    def open(self) -> tuple[Block, ...]:
        """The tail in pieces, of which mostly the last alone changes with a token."""
        tail = self.tail
        if not self._settled:
            return (tail,) if tail.source else ()
        rest = tail.source[len(self._settled) :]
        last = (Block(self._reopens + rest, joined=True),) if rest.strip() else ()
        return Block(self._settled, tail.joined), *last

    def feed(self, text: str) -> list[Block]:
        """Take `text` in and return the blocks that it completed, oldest first."""
        self._pending += text
        finished: list[Block] = []
        while "\n" in text and (block := self._cut()):
            finished.append(block)
        return finished

    def _cut(self) -> Block | None:
        """The oldest finished block, if there is one. Judged by whole lines: half of one can mean anything."""
        whole = self._fence + self._pending[: self._pending.rfind("\n") + 1]
        tokens = self._parser.parse(whole)
        starts = [token for token in tokens if token.level == 0 and token.map]
        self._settled = self._reopens = ""
        if len(starts) > 1:
            block = self._take(_first_line(starts[1]))
            self._fence = ""
            return block
        if starts and starts[0].type == "fence":
            return self._cut_fence(starts[0], whole)
        items = [token for token in tokens if token.type == "list_item_open" and token.level == 1]
        if len(items) > 1:
            self._settled = "".join(_lines(whole)[: _first_line(items[-1])])
        return None

    def _cut_fence(self, fence: Token, whole: str) -> Block | None:
        """A piece of one long open code block, closed for rendering; the rest reopens with the same first line."""
        lines = _lines(whole)
        start = _first_line(fence)
        assert fence.map is not None
        if fence.map[1] > start + 1 and _is_closing(lines[fence.map[1] - 1], fence.markup):
            return None
        if len(lines) - start <= _FENCE_LINES + 1:
            if len(lines) - start > 1:
                self._settled, self._reopens = whole, lines[start]
            return None
        block = self._take(start + 1 + _FENCE_LINES)
        self._fence = lines[start]
        return Block(f"{block.source}{fence.markup}\n", block.joined)

    def _take(self, n_lines: int) -> Block:
        """The first `n_lines` of what is shown, the reopened fence's line among them."""
        lines = _lines(self._fence + self._pending)
        block = Block("".join(lines[:n_lines]), joined=bool(self._fence))
        self._pending = "".join(lines[n_lines:])
        return block


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")[:-1]] + [text.rpartition("\n")[2]] * (
        not text.endswith("\n")
    )


def _first_line(token: Token) -> int:
    assert token.map is not None
    return token.map[0]


def _is_closing(line: str, markup: str) -> bool:
    bare = line.strip()
    return bare.startswith(markup) and not bare.strip(markup[0])
