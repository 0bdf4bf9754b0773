"""The commands that what is being typed may become, above the composer. Not there for anything else."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from chatkv.tui.slash import SlashCommand, matching

_LINES = 5
_NAME_CELLS = 24


class Completions(Static):
    """Draws usage and meaning, the one that Tab writes out first."""

    def __init__(self) -> None:
        super().__init__(id="completions")
        self._shown: tuple[SlashCommand, ...] = ()
        self.display = False

    def show(self, text: str) -> None:
        """Draw what fits `text`."""
        found = matching(text)
        if found == self._shown:
            return
        self._shown = found
        self.display = bool(found)
        lines = [_line(command, first=command is found[0]) for command in found[:_LINES]]
        self.update(Content("\n").join(lines) + _rest(found))


def _line(command: SlashCommand, *, first: bool) -> Content:
    usage = f"{command.usage:<{_NAME_CELLS}}"
    return Content.assemble((usage, "bold" if first else ""), (command.meaning, "dim"))


def _rest(found: tuple[SlashCommand, ...]) -> Content:
    hidden = len(found) - _LINES
    return Content.styled(f"\n… {hidden} more · F1 lists all" if hidden > 0 else "", "dim")
