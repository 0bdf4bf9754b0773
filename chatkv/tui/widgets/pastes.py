"""Large or unusual pastes stand in the composer as a short label, and are exact again when sent. No widgets."""

from __future__ import annotations

import re

from chatkv.tui import units

_MAX_CHARS = 6_000
_MAX_LINES = 100
_UNSAFE = re.compile(r"[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What a text editor takes for a line end and would write back as a newline."""


class Pastes:
    """Labels and the texts that they stand for."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, text: str) -> str:
        """What to put into the editor for `text`: itself where the editor keeps it exact and quick, else a label."""
        if len(text) <= _MAX_CHARS and text.count("\n") <= _MAX_LINES and not _UNSAFE.search(text):
            return text
        amount = units.size(len(text.encode(errors="replace")))
        label = f"⟦paste {len(self._texts) + 1} · {units.plural(text.count(chr(10)) + 1, 'line')} · {amount}⟧"
        self._texts[label] = text
        return label

    def expand(self, edited: str) -> str:
        """`edited` with every label replaced by the text that it stands for."""
        if not self._texts:
            return edited
        labels = re.compile("|".join(map(re.escape, self._texts)))
        return labels.sub(lambda found: self._texts[found.group()], edited)

    def clear(self) -> None:
        """Forget all texts: what was in the editor is gone."""
        self._texts.clear()


def from_terminal(text: str) -> str:
    """A paste as it was copied: terminals send its newlines as carriage returns when they send no newline at all."""
    return text if "\n" in text else text.replace("\r", "\n")
