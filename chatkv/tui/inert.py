"""Foreign text made safe to show: control characters become visible symbols. Stored text is never touched."""

from __future__ import annotations

_UNSHOWABLE = "\N{REPLACEMENT CHARACTER}"
_BIDI_OVERRIDES = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))

_SYMBOLS: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: "\N{SYMBOL FOR DELETE}",
    **dict.fromkeys(range(0x80, 0xA0), _UNSHOWABLE),
    **dict.fromkeys(_BIDI_OVERRIDES, _UNSHOWABLE),
    **dict.fromkeys((0x2028, 0x2029), _UNSHOWABLE),
    **dict.fromkeys(range(0xD800, 0xE000), _UNSHOWABLE),
}
"""One character for one, so that positions in shown and stored text agree."""

SHOWABLE = f"[^{''.join(map(chr, _SYMBOLS))}]*"
"""A pattern of text that has none of these."""


def inert(text: str) -> str:
    """`text` with every character a terminal might obey (or choke on) as a visible one; same length.

    Newline and tab stay. Escape and the other C0 controls become Unicode's control pictures; C1 controls,
    bidirectional overrides, line separators and lone surrogates become U+FFFD.
    """
    return text.translate(_SYMBOLS)


def one_line(text: str) -> str:
    """`text` inert and on one line, for titles and table cells."""
    return inert(" ".join(text.split()))
