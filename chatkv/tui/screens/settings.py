"""All settings in one list: type to filter, Enter changes. Each change is saved at once; what it does, the app does."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from chatkv.errors import ChatkvError
from chatkv.tui.inert import inert, one_line
from chatkv.tui.screens.setting_lines import about, fitting, line, outcome
from chatkv.tui.settings.preferences import Preference, Preferences
from chatkv.tui.widgets.inert_input import InertInput


def _key(keys: str, action: str, label: str, name: str, meaning: str, *, show: bool = False) -> Binding:
    return Binding(keys, action, label, id=f"settings.{name}", priority=True, show=show, tooltip=meaning)


class SettingList(OptionList, can_focus=False):
    """The lines; keys are the screen's."""


class SettingsScreen(ModalScreen[None]):
    """Shows and saves. `apply` puts a saved setting into force as far as that can be; `reload` loads the model again
    and says whether it could; `reload_key` is how the key for that is spoken of."""

    VERTICAL_BREAKPOINTS = [(0, "-short"), (18, "-tall")]  # noqa: RUF012 (an instance variable in Textual's types)
    BINDINGS: ClassVar[list[BindingType]] = [
        _key("enter", "change", "Change", "change", "Change the marked setting: next choice, or write it", show=True),
        _key("ctrl+d", "reset", "Default", "reset", "Set the marked setting back to its default", show=True),
        _key("ctrl+l", "reload", "Load again", "reload", "Load the model again, with these settings", show=True),
        _key("escape", "close", "Back", "close", "Leave what is being written, else the settings", show=True),
        _key("up", "move(-1)", "Up", "up", "Mark the setting above"),
        _key("down", "move(1)", "Down", "down", "Mark the setting below"),
        _key("pageup", "move(-10)", "Page up", "pageup", "Mark the setting a page above"),
        _key("pagedown", "move(10)", "Page down", "pagedown", "Mark the setting a page below"),
    ]  # fmt: skip

    def __init__(
        self,
        preferences: Preferences,
        apply: Callable[[Preference], None],
        reload: Callable[[], bool],
        reload_key: str = "Ctrl+L",
    ) -> None:
        super().__init__()
        self._preferences, self._apply, self._load_again = preferences, apply, reload
        self._reload_key = reload_key
        self._all: list[Preference] = []
        self._lines: list[Preference | None] = []
        """What each line of the list stands for; None = a heading."""
        self._editing: Preference | None = None
        self._filter = InertInput(placeholder="Type to filter", compact=True, id="filter")
        self._value = InertInput(compact=True, id="value")
        self._list = SettingList(compact=True)
        self._about = Static(id="about")
        self._said = Label(id="said")

    def compose(self) -> ComposeResult:
        """Filter or the line that is written, the list, what the marked one means, what became of a change."""
        with Vertical(classes="panel"):
            yield Label(Content("Settings"), classes="title")
            yield self._filter
            yield self._value
            yield self._list
            yield self._about
            yield self._said
            yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Read them; write at once."""
        self._value.display = False
        self._said.display = False
        self._filter.focus()
        self._read()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what fits."""
        if event.input is self._filter:
            self._draw(None)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say what the marked one means."""
        self._explain()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click changes."""
        self.action_change()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a value is written, the list stands still."""
        return self._editing is None or action not in ("move", "reset", "reload")

    def action_change(self) -> None:
        """The next choice; what has none is written in a line, and saved from there."""
        marked = self._marked
        if self._editing is not None:
            self._save(self._editing, self._value.value)
        elif marked is not None and marked.choices:
            now = marked.choices.index(marked.editable) if marked.editable in marked.choices else -1
            self._save(marked, marked.choices[(now + 1) % len(marked.choices)])
        elif marked is not None and not marked.editable.isprintable():
            self._say(f"It has more than one line: change it in {self._preferences.file}.")
        elif marked is not None:
            self._write(marked)

    def action_reset(self) -> None:
        """Back to the default."""
        if self._marked is not None:
            key = self._marked.key
            self._attempt(lambda: self._preferences.reset(key))

    def action_reload(self) -> None:
        """Load the model again."""
        self._say("The model is loaded again." if self._load_again() else "An answer is running; not now.")

    def action_close(self) -> None:
        """Leave the line that is written, else the screen."""
        if self._editing is not None:
            self._write(None)
            self._say("")
        elif self._filter.value:
            self._filter.value = ""
        else:
            self.dismiss(None)

    def action_move(self, steps: int) -> None:
        """Move the mark over headings, not past the ends."""
        places = [at for at, one in enumerate(self._lines) if one is not None]
        if places:
            now = self._list.highlighted
            index = places.index(now) if now in places else 0
            self._list.highlighted = places[max(0, min(len(places) - 1, index + steps))]

    @property
    def _marked(self) -> Preference | None:
        at = self._list.highlighted
        return self._lines[at] if at is not None and at < len(self._lines) else None

    def _write(self, preference: Preference | None) -> None:
        """Open the line for this setting, or close it."""
        self._editing = preference
        self._value.display = preference is not None
        self._filter.display = preference is None
        if preference is None:
            self._filter.focus()
        else:
            self._value.value = preference.editable
            self._value.placeholder = preference.shown
            self._value.cursor_position = len(self._value.value)
            self._value.focus()
        self.refresh_bindings()

    def _save(self, preference: Preference, text: str) -> None:
        if preference is self._editing and text == preference.editable:
            self._write(None)
        else:
            self._attempt(lambda: self._preferences.save(preference.key, text))

    def _attempt(self, act: Callable[[], Preference]) -> None:
        """Do it, say what became of it, and show how all stand now."""
        try:
            saved = act()
        except ChatkvError as error:
            self._say(f"✗ {error}")
            return
        self._write(None)
        if not saved.overridden:
            self._apply(saved)
        self._read(saved.key)
        self._say(outcome(saved, key_for_reload=self._reload_key))

    def _read(self, key: str | None = None) -> None:
        try:
            self._all = self._preferences.all()
        except ChatkvError as error:
            self._say(f"✗ {error}")
        self._draw(key)

    def _draw(self, key: str | None) -> None:
        """Fill the list, a heading over each section; mark `key`, else the first."""
        self._lines, options, section = [], [], ""
        for one in fitting(self._all, self._filter.value):
            if one.section != section:
                section = one.section
                self._lines.append(None)
                options.append(Option(Content.styled(section, "bold $primary"), disabled=True))
            self._lines.append(one)
            options.append(Option(line(one)))
        self._list.clear_options()
        self._list.add_options(options)
        keys = [one.key if one else "" for one in self._lines]
        first = next((at for at, one in enumerate(self._lines) if one is not None), None)
        self._list.highlighted = keys.index(key) if key in keys else first
        self._explain()

    def _explain(self) -> None:
        words = about(self._marked) if self._marked else f"Nothing fits. File: {self._preferences.file}"
        self._about.update(Content(inert(words)))

    def _say(self, text: str) -> None:
        self._said.update(Content(one_line(text)))
        self._said.display = bool(text)
