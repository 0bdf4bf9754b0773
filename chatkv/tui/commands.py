"""The actions of the chat in the command palette, taken from their bindings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider


class ChatCommands(Provider):
    """Every binding of the screen below the palette and of the app that has an id and makes sense now."""

    async def discover(self) -> Hits:
        """All of them."""
        for title, meaning, action in self._actions():
            yield DiscoveryHit(title, partial(self.app.run_action, action, self.screen), help=meaning)

    async def search(self, query: str) -> Hits:
        """Those that fit `query`, the best first."""
        matcher = self.matcher(query)
        for title, meaning, action in self._actions():
            score = max(matcher.match(title), matcher.match(meaning))
            if score > 0:
                command = partial(self.app.run_action, action, self.screen)
                yield Hit(score, matcher.highlight(title), command, help=meaning)

    def _actions(self) -> Iterator[tuple[str, str, str]]:
        seen: set[str] = set()
        for node in (self.screen, self.app):
            for binding in Binding.make_bindings(node.BINDINGS):
                if not binding.id or binding.action in seen:
                    continue
                seen.add(binding.action)
                if node.check_action(binding.action.partition("(")[0], ()):
                    prefix = "app." if node is self.app else "screen."
                    yield f"{binding.description}", binding.tooltip, f"{prefix}{binding.action}"
