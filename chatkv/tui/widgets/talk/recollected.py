"""What the archive gave for a question: folded, dim, plain text."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Collapsible, Static

from chatkv.tui.inert import inert
from chatkv.tui.talk.exchange import Recollection


class Recollected(Collapsible):
    """Shows a recollection; `note` stands behind its title. `keyed`: other keys unfold it, and it has no focus."""

    def __init__(
        self, recollection: Recollection | None = None, note: str = "", *, keyed: bool = False
    ) -> None:
        self._body = Static(classes="recollection", markup=False)
        self._note = note
        self._shown: Recollection | None = None
        super().__init__(self._body, title="")
        self._title.can_focus = not keyed
        self.show(recollection)

    def show(self, recollection: Recollection | None) -> None:
        """Draw this one; None = nothing to be seen."""
        self.display = recollection is not None
        if recollection is None or recollection == self._shown:
            return
        self._shown = recollection
        self.title = f"{recollection.title}{self._note}"
        self._body.update(Content(inert(recollection.text)))
