"""A text area in which labels stand for long texts: a label is written, deleted and stepped over as one thing."""

from __future__ import annotations

from dataclasses import replace

from textual import events
from textual.document._document import EditResult, Location
from textual.document._edit import Edit

from chatkv.tui.widgets.writing.clustered_area import ClusteredArea
from chatkv.tui.writing.pastes import Pastes, from_terminal
from chatkv.tui.writing.written import Written

_NOTHING = "\0"


class LabelledArea(ClusteredArea):
    """Keeps every text exact that is put or pasted into it."""

    def __init__(self, placeholder: str) -> None:
        self.pastes = Pastes()  # before the area has a cursor: where that may be, the labels say
        super().__init__(
            soft_wrap=True,
            compact=True,
            highlight_cursor_line=False,
            placeholder=placeholder,
            tab_behavior="focus",
        )

    @property
    def message(self) -> str:
        """The text as it would be sent: pastes whole. Reads all of it."""
        return self.pastes.expand(self.text)

    @property
    def written(self) -> Written:
        """The text as it would be sent, and its labels. Reads all of it."""
        return self.pastes.written(self.text)

    @property
    def blank(self) -> bool:
        """Whether nothing at all is written."""
        return self.document.line_count == 1 and not self.document.get_line(0)

    def put(self, text: str | Written) -> None:
        """Replace everything by `text`; the cursor goes to its end."""
        self.text = self.pastes.fold(text if isinstance(text, Written) else Written(text))
        self.move_cursor(self.document.end)

    def swap(self, label: str, other: str) -> None:
        """Write another label in the place of this one; the cursor stays where it was in the text."""
        for row in range(self.document.line_count):
            column = self.document.get_line(row).find(label)
            if column >= 0:
                places = (row, column), (row, column + len(label))
                self.replace(other, *places, maintain_selection_offset=True)
                return

    def edit(self, edit: Edit) -> EditResult:
        """What cuts into a label takes all of it; what is written into one is written behind it."""
        top, bottom = edit.top, edit.bottom
        start, end = self._around(top), self._around(bottom)
        if top == bottom:
            top = bottom = (top[0], start[1]) if start else top
        else:
            top = (top[0], start[0]) if start else top
            bottom = (bottom[0], end[1]) if end else bottom
        if (top, bottom) != (edit.top, edit.bottom):
            edit = replace(edit, from_location=top, to_location=bottom)
        return super().edit(edit)

    def find_matching_bracket(self, bracket: str, search_from: Location) -> Location | None:
        """None: looking for the other bracket could read the whole text at every key."""
        return None

    def get_cursor_left_location(self) -> Location:
        """Before a label, where the cursor is behind it."""
        row, column = super().get_cursor_left_location()
        label = self._around((row, column))
        return (row, label[0]) if label else (row, column)

    def get_cursor_right_location(self) -> Location:
        """Behind a label, where the cursor is before it."""
        row, column = super().get_cursor_right_location()
        label = self._around((row, column))
        return (row, label[1]) if label else (row, column)

    def seen(self, row: int) -> str:
        """The line with nothing in the place of labels: what stands beside one is no part of it."""
        line = super().seen(row)
        for start, end in self.pastes.within(line):
            line = f"{line[:start]}{_NOTHING * (end - start)}{line[end:]}"
        return line

    def _around(self, place: Location) -> tuple[int, int] | None:
        """The label whose inside this place is in."""
        row, column = place
        if row >= self.document.line_count:  # Textual deletes the last line up to the one below it
            return None
        spans = self.pastes.within(self.document.get_line(row))
        return next((span for span in spans if span[0] < column < span[1]), None)

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert a paste exactly, a large one as a label."""
        event.prevent_default()
        event.stop()
        self.insert_exact(from_terminal(event.text))

    def insert_exact(self, text: str) -> None:
        """Put `text` in the place of the selection."""
        self.replace(self.pastes.take(text, self.text), *self.selection)
        self.scroll_cursor_visible()
