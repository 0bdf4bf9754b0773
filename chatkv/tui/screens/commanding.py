"""What the main screen does when a command is typed that has a key or a list of its own, too."""

from __future__ import annotations

from textual.screen import Screen

from chatkv.tui.behind.desk import Desk
from chatkv.tui.talk.exchange import Say

_ACTIONS = {
    "edit": "screen.edit",
    "copy": "screen.copy_answer",
    "sessions": "app.sessions",
    "settings": "app.settings",
    "theme": "app.change_theme",
    "quit": "app.quit",
}
_ABOUT_TURNS = ("edit", "copy", "find")
_LISTED = 8


class Commanding(Screen[None]):
    """The part of the main screen that carries out typed commands."""

    _desk: Desk

    def _perform(self, name: str, about: str) -> None:
        """Do this, with these words."""
        if name in _ABOUT_TURNS and not self._desk.conversation.board.turns:
            self._desk.do([Say("Nothing was said in this session yet.", "warning")])
        elif name == "find":
            self.find(about or None)
        elif name == "theme" and about:
            self._use_theme(about)
        else:
            self.app.call_later(self.run_action, _ACTIONS[name])

    def _use_theme(self, name: str) -> None:
        themes = sorted(self.app.available_themes)
        if name.lower() in themes:
            self.app.theme = name.lower()
            return
        some = ", ".join(themes[:_LISTED])
        self._desk.do([Say(f"There is no theme {name!r}. /theme lists all: {some}, …", "error")])

    def find(self, words: str | None = None) -> None:
        """Look for words in the conversation."""
        raise NotImplementedError
