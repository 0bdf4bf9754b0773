"""Text as a code block of Markdown."""

from __future__ import annotations

import re


def fenced(text: str, language: str = "") -> str:
    """`text` between fences longer than any inside it; empty for no text."""
    if not text:
        return ""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"
