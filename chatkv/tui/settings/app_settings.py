"""What settings do in the app that runs: keys, theme, sidebar, notices, and what the worker is told."""

from __future__ import annotations

from textual.app import App
from textual.theme import Theme

from chatkv.errors import ChatkvError
from chatkv.protocol import Set
from chatkv.tui.attention import Attention
from chatkv.tui.behind.desk import Desk
from chatkv.tui.behind.launch import spelled
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.settings.keymap import Keymap
from chatkv.tui.settings.preferences import Preference, Preferences
from chatkv.tui.talk.exchange import Issue, Say


class AppSettings(App[None]):
    """The part of the app that puts settings into force, and keeps those that are made elsewhere than in the list."""

    desk: Desk
    chat: ChatScreen
    keymap: Keymap
    preferences: Preferences
    attention: Attention

    def action_settings(self) -> None:
        """List all settings, or close that list."""
        from chatkv.tui.screens.settings import SettingsScreen

        if isinstance(self.screen, SettingsScreen):
            self.screen.dismiss()
            return
        key = self.keymap.spoken("settings.reload")
        self.push_screen(SettingsScreen(self.preferences, self._apply, self.desk.models.reload, key))

    def _apply(self, preference: Preference) -> None:
        """Put a setting that was saved into force, as far as it acts without a new start."""
        key, value = preference.key, preference.value
        if key == "ui.theme":
            self.theme = value
        elif key == "ui.sidebar":
            self.chat.set_class(not value, "-folded")
            self.chat.set_class(False, "-unfolded")
        elif key == "ui.notify":
            self.attention.on = value
        elif preference.in_force and not key.startswith("ui."):
            told = spelled(value) if isinstance(value, tuple) else value
            self.desk.do([Issue(Set(key, told))])
        else:
            self.desk.forget(key)

    def _use_keymap(self) -> None:
        """Put the person's keys into force, and say where two things have one key."""
        if self.keymap.changed:
            self.set_keymap({name: ",".join(self.keymap.keys(name)) for name in self.keymap.changed})
            for clash in self.keymap.clashes():
                self.notify(f"[keys] {clash}", severity="warning", markup=False)

    def _keep_theme(self, theme: Theme) -> None:
        """A theme that was chosen is the theme of the next start too."""
        try:
            if theme.name != self.preferences.one("ui.theme").value:
                self.preferences.save("ui.theme", theme.name)
        except ChatkvError as error:
            self.desk.do([Say(f"The theme is not kept: {error}", "warning")])
