"""One line to write in that holds no character a terminal might obey: such a one becomes visible when it comes in."""

from __future__ import annotations

from textual.widgets import Input

from chatkv.tui.inert import inert


class InertInput(Input):
    """An `Input` whose value is always inert."""

    def validate_value(self, value: str) -> str:
        """The value to hold."""
        return inert(value).replace("\n", " ")
