"""The actions of the chat in the command palette: those of its bindings, and the commands with a slash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider

from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.writing.slash import COMMANDS


class ChatCommands(Provider):
    """Every binding of the screen below the palette and of the app that has an id and makes sense now."""

    async def discover(self) -> Hits:
        """All of them."""
        for title, meaning, act in self._all():
            yield DiscoveryHit(title, act, help=meaning)

    async def search(self, query: str) -> Hits:
        """Those that fit `query`, the best first."""
        matcher = self.matcher(query)
        for title, meaning, act in self._all():
            score = max(matcher.match(title), matcher.match(meaning))
            if score > 0:
                yield Hit(score, matcher.highlight(title), act, help=meaning)

    def _all(self) -> Iterator[tuple[str, str, Callable[[], Any]]]:
        for title, meaning, action in self._actions():
            yield title, meaning, partial(self.app.run_action, action, self.screen)
        if isinstance(self.screen, ChatScreen):
            for command in COMMANDS:
                yield command.usage, command.meaning, partial(self.screen.begin_command, command)

    def _actions(self) -> Iterator[tuple[str, str, str]]:
        seen: set[str] = set()
        for node in (self.screen, self.app):
            for binding in Binding.make_bindings(node.BINDINGS):
                if not binding.id or binding.action in seen or binding.action == "command_palette":
                    continue
                seen.add(binding.action)
                if node.check_action(binding.action.partition("(")[0], ()):
                    prefix = "app." if node is self.app else "screen."
                    yield f"{binding.description}", binding.tooltip, f"{prefix}{binding.action}"
