"""The turns that are mounted in a transcript, and where they are. Mounts none itself."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import VerticalScroll

from chatkv.tui.widgets.talk.turn import TurnView


class MountedTurns(VerticalScroll):
    """A column of turns, each known by its key."""

    _views: dict[int, TurnView]

    needle = ""
    """Words that stand out, as they are compared; in turns that are yet to come, too."""
    unfolded = False
    """Whether thoughts are, in turns that are yet to come."""

    @property
    def views(self) -> Sequence[TurnView]:
        """All turns that are mounted, in order."""
        return tuple(self._views.values())

    @property
    def first_in_sight(self) -> int | None:
        """Key of the topmost turn of which a line is in sight."""
        seen = (key for key, view in self._views.items() if view.virtual_region.bottom > self.scroll_y)
        return next(seen, None)

    def bring(self, view: TurnView, line: int) -> None:
        """Scroll so that a line of this turn is in sight, unless it is."""
        at = view.virtual_region.y + line
        if not self.scroll_y <= at < self.scroll_y + self.size.height:
            self.scroll_to(y=at - self.size.height // 3, animate=False, immediate=True)

    def view(self, key: int | None) -> TurnView | None:
        """The view of this turn, if it is mounted."""
        return self._views.get(key or 0)
