"""Large or unusual texts stand in the composer as a short label, and are exact again when sent. No widgets."""

from __future__ import annotations

import re

from chatkv.tui import units
from chatkv.tui.inert import one_line
from chatkv.tui.writing.written import Written

_MAX_CHARS = 6_000
_MAX_LINES = 100
_FULL_CHARS = 50_000
"""With so much in the editor, even smaller pastes become labels, so that no key has to wait."""
_MAX_CHARS_WHEN_FULL = 500
_MAX_NAME_CHARS = 40
_UNSAFE = re.compile(r"[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What a text editor takes for a line end and would write back as a newline."""
_LABEL = re.compile(r"⟦[^⟦⟧\n]+ · [\d,]+ lines? · [\d,.]+ (?:[KMG]i)?B(?: · [\d,]+ tokens?)?⟧")


class Pastes:
    """Labels and the texts that they stand for. A label stays valid until `clear`: undo may bring it back."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, text: str, around: str = "") -> str:
        """What to put into the editor for `text`: itself where the editor keeps it exact and quick, else a label.

        `around`: what is in the editor already.
        """
        most = _MAX_CHARS if len(around) < _FULL_CHARS else _MAX_CHARS_WHEN_FULL
        plain = len(text) <= most and text.count("\n") <= _MAX_LINES
        if plain and not _UNSAFE.search(text) and not _LABEL.search(text):
            return text
        return self.label("paste", text, around, numbered=True)

    def label(
        self, name: str, text: str, around: str = "", *, numbered: bool = False, size_of: str | None = None
    ) -> str:
        """A new label that begins with `name` and stands for `text`; it gives the size of that, or of `size_of`."""
        shown = one_line(name).replace("⟦", "[").replace("⟧", "]") or "file"
        if len(shown) > _MAX_NAME_CHARS:
            shown = f"{shown[: _MAX_NAME_CHARS // 2 - 1]}…{shown[-_MAX_NAME_CHARS // 2 :]}"
        sized = text if size_of is None else size_of.removesuffix("\n")
        amount = units.size(len(sized.encode(errors="replace")))
        about = f"{units.plural(sized.count(chr(10)) + 1, 'line')} · {amount}"
        n = len(self._texts) + 1 if numbered else 1
        label = ""
        while not label or label in self._texts or label in around:
            label = f"⟦{shown}{f' {n}' if numbered or n > 1 else ''} · {about}⟧"
            n += 1
        self._texts[label] = text
        return label

    def counted(self, label: str, text: str, n_tokens: int) -> str | None:
        """The label that says how many tokens `text` is, in place of `label`; None where that one is not of it."""
        longer = f"{label[:-1]} · {units.plural(n_tokens, 'token')}⟧"
        if self._texts.get(label) != text or label.endswith(" tokens⟧") or longer in self._texts:
            return None
        self._texts[longer] = self._texts[label]
        return longer

    def expand(self, edited: str) -> str:
        """`edited` with every label replaced by the text that it stands for."""
        return (
            _LABEL.sub(lambda found: self._texts.get(found[0], found[0]), edited) if self._texts else edited
        )

    def written(self, edited: str) -> Written:
        """The same, and where the labels stand."""
        parts: list[str] = []
        labels: list[tuple[int, int, str]] = []
        at = n_chars = 0
        for found in _LABEL.finditer(edited) if self._texts else ():
            whole = self._texts.get(found[0])
            if whole is None:
                continue
            parts += [edited[at : found.start()], whole]
            n_chars += found.start() - at
            labels.append((n_chars, len(whole), found[0]))
            n_chars, at = n_chars + len(whole), found.end()
        return Written("".join([*parts, edited[at:]]), tuple(labels))

    def fold(self, written: Written) -> str:
        """What to put into the editor for `written`; all labels of before are forgotten."""
        self.clear()
        parts: list[str] = []
        at = 0
        for start, length, label in written.labels:
            parts.append(self.take(written.text[at:start]))
            at = start + length
            whole = written.text[start:at]
            if label in self._texts or not _LABEL.fullmatch(label):
                label = self.label("paste", whole, numbered=True)
            self._texts[label] = whole
            parts.append(label)
        return "".join([*parts, self.take(written.text[at:])])

    def within(self, line: str) -> list[tuple[int, int]]:
        """Where labels stand in a line of the editor: start and end."""
        if not self._texts or "⟦" not in line:
            return []
        return [found.span() for found in _LABEL.finditer(line) if found[0] in self._texts]

    def clear(self) -> None:
        """Forget all texts: what was in the editor is gone."""
        self._texts.clear()


def from_terminal(text: str) -> str:
    """A paste as it was copied: terminals send its newlines as carriage returns when they send no newline at all."""
    return text if "\n" in text else text.replace("\r", "\n")
