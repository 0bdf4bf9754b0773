"""Markdown as chatkv reads it: formulas stay as they were written, tasks have boxes, links and images are text.

Text in, tokens out; draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_FORMULAS = (("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"))
_SIGNS_OF_FORMULAS = frozenset("\\^_={}")
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


def _formula(state: StateInline, silent: bool) -> bool:
    """A formula between LaTeX's marks, taken as plain text: its backslashes and underscores mean something else."""
    for opening, closing in _FORMULAS:
        if state.src.startswith(opening, state.pos):
            end = state.src.find(closing, state.pos + 2)
            inner = state.src[state.pos + 2 : end]
            if end < 0 or not _SIGNS_OF_FORMULAS.intersection(inner):
                return False
            if not silent:
                state.push("text", "", 0).content = state.src[state.pos : end + 2]
            state.pos = end + 2
            return True
    return False


_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")
_PARSER.inline.ruler.before("escape", "formula", _formula)


def parsed(source: str) -> list[Token]:
    """The tokens of `source`."""
    tokens = _PARSER.parse(source)
    for n, token in enumerate(tokens):
        if token.type == "inline" and token.children:
            token.children = _plain(token.children)
            if n > 1 and tokens[n - 2].type == "list_item_open":
                _box(token.children)
    return tokens


def _box(children: Sequence[Token]) -> None:
    """A task begins with a box."""
    first = children[0]
    for written, box in _TASKS.items():
        if first.type == "text" and first.content.startswith(written):
            first.content = box + first.content[len(written) :]


def _plain(children: Iterable[Token]) -> list[Token]:
    """Images by their description and address; a link whose text is its address by that alone."""
    shown: list[Token] = []
    for token in children:
        if token.type == "image":
            shown.append(_text(f"▣ {token.content} ({token.attrs.get('src', '')})"))
        elif token.type == "link_close" and _says_its_address(shown):
            del shown[-2]
        else:
            shown.append(token)
    return shown


def _says_its_address(shown: Sequence[Token]) -> bool:
    if len(shown) < 2 or (shown[-2].type, shown[-1].type) != ("link_open", "text"):
        return False
    address = str(shown[-2].attrs.get("href", ""))
    return shown[-1].content in (address, address.removeprefix("mailto:"))


def _text(content: str) -> Token:
    token = Token("text", "", 0)
    token.content = content
    return token
