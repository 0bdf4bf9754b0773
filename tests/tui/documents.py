"""Markdown as models write it and as they should not: what random documents are made of."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

HOSTILE = (
    "[bold]\x1b[31m red \x1b]0;owned\x07 \x1b]8;;https://x\x1b\\ \x9b2J \x00\x7f\x85 [@click=app.quit]q[/] "
    "a\u200bb \u202eeman.exe\u202c \u2066x\u2069 שלום مرحبا 日本語 👩‍👩‍👧‍👦 🇩🇪 e\u0301 \u2028\u2029"
)
"""Escape sequences, markup, overrides of direction, characters without width, wide ones. No line end of its own."""

_PIECES = (
    *("# heading\n", "### *h* `c`\n", "Setext\n===\n", "text ", "more\n", "\n", "\n\n", "---\n", "***\n"),
    *("- a\n", "  - b\n", "    - c\n", "1. x\n", "10. y\n", "- [ ] task\n", "- [x] done\n", "   continued\n"),
    *("> quote\n", "> > deeper\n", "> - in a quote\n"),
    *(
        "```py\n",
        "x = 1\n",
        "```\n",
        "~~~\n",
        "````md\n",
        "````\n",
        "  ```sh\n",
        "    code\n",
        "\tcode\n",
        "`",
    ),
    *("| a | b |\n", "|--|:-:|\n", "| 1 | `2` |\n", "| only |\n"),
    *("*em* ", "**strong** ", "~~gone~~ ", "`c` ", "\\* ", "\\[bold\\] ", "[bold]x[/bold] ", "[red]", "[/]"),
    *("[link](https://example.org/a_b) ", "[r]: https://example.org\n", "[r] ", "<https://example.org> "),
    *("![alt](i.png) ", "<b>html</b> ", "<div>\n", "&amp; ", "\\(a_b\\) ", "$$\nx^2\n$$\n", "  \n"),
    *(
        "日本語 ",
        "👩‍👩‍👧‍👦 ",
        "🇩🇪",
        "שלום ",
        "مرحبا ",
        "a\u200bb ",
        "e\u0301 ",
        "\u202e",
        "\x1b[31m",
        "\x9b2J",
        "\x07",
    ),
    *("\t", "\r\n", "\x00", "loooooooooooooooooooooooooooooooooooooooooooooooooooooong "),
)

DOCUMENTS = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=50).map("".join)


@st.composite
def streamed(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A document, and the pieces in which it comes."""
    document = draw(DOCUMENTS)
    cuts = sorted(draw(st.sets(st.integers(0, len(document)), max_size=40)))
    edges = [0, *cuts, len(document)]
    return document, [document[a:b] for a, b in itertools.pairwise(edges) if a < b]


def controls(text: str) -> list[str]:
    """What a terminal might obey of `text`."""
    forbidden = (
        *range(0x20),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        0x2028,
        0x2029,
    )
    return [f"{ord(c):04x}" for c in text if ord(c) in forbidden]
