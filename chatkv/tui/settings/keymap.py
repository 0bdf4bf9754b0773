"""Which keys do what, in all places: the app's own, and those that a person's configuration puts in their stead.

Knows the bindings by their ids. What a binding does, its screen knows.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from textual.binding import Binding
from textual.keys import KEY_NAME_REPLACEMENTS, Keys

from chatkv.config.convert import require_known
from chatkv.errors import ConfigError

_MODIFIERS = {"ctrl", "shift", "alt", "super", "hyper", "meta"}
_KEYS = {member.value for member in Keys} | set(KEY_NAME_REPLACEMENTS.values()) | {"space"}
_NAMES = {
    "escape": "Esc",
    "question_mark": "?",
    "slash": "/",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "backspace": "Backspace",
    "delete": "Del",
}
_TOGETHER = ("Conversation", "Message", "Everywhere")
"""Places whose keys work at the same time."""


_HINT = re.compile(r"⟨([a-z_]+\.[a-z_]+)⟩")


@dataclass(frozen=True, slots=True)
class Keymap:
    """The keys in force. `changed` maps ids of bindings to keys with commas between."""

    changed: Mapping[str, str] = field(default_factory=dict)

    def keys(self, name: str) -> tuple[str, ...]:
        """The keys of the binding with this id, as Textual calls them; none where there is no such binding."""
        if name in self.changed:
            return _normal(self.changed[name])
        return tuple(binding.key for binding in bindings().get(name, ()))

    def spoken(self, name: str) -> str:
        """The first key of the binding with this id, as it is printed on keyboards."""
        keys = self.keys(name)
        return spoken(keys[0]) if keys else ""

    def named(self, text: str) -> str:
        """`text` with the keys in force where it says `⟨id of a binding⟩`."""
        return _HINT.sub(lambda found: self.spoken(found[1]) or found[0], text) if "⟨" in text else text

    def grouped(self, place: Iterable[Binding]) -> list[tuple[Binding, tuple[str, ...]]]:
        """The bindings of a place, each once, with all its keys in force."""
        groups: dict[str, tuple[Binding, tuple[str, ...]]] = {}
        for binding in place:
            meaning = binding.tooltip or binding.description
            _, keys = groups.get(meaning, (binding, ()))
            groups[meaning] = (binding, (*keys, *(k for k in self.keys(binding.id or "") if k not in keys)))
        return list(groups.values())

    def clashes(self) -> list[str]:
        """What is to be said of keys that were given to a binding and are another one's too, where both work."""
        owners: dict[str, set[str]] = {}
        for place in _TOGETHER:
            for binding in places()[place]:
                for key in self.keys(binding.id or ""):
                    owners.setdefault(key, set()).add(binding.id or "")
        return [
            f"{spoken(key)} is the key of {' and '.join(sorted(names))}."
            for key, names in owners.items()
            if len(names) > 1 and names & self.changed.keys()
        ]


def read_keymap(changed: Iterable[tuple[str, str]]) -> Keymap:
    """The keymap of a configuration. Raises `ConfigError` for an id or a key that does not exist."""
    keymap = Keymap(dict(changed))
    for name, keys in keymap.changed.items():
        require_known(name, bindings(), f"[keys] {name}")
        for key in _normal(keys):
            if not _exists(key):
                raise ConfigError(
                    f'[keys] {name} = "{keys}": there is no key {key!r}.',
                    'Write keys like "ctrl+x", "f5", "alt+up" or "escape", with commas between.',
                )
    return keymap


@functools.cache
def places() -> dict[str, tuple[Binding, ...]]:
    """Every place with its bindings, in the order in which the help shows them."""
    from chatkv.tui.screens.ask import ConfirmScreen, NameScreen
    from chatkv.tui.screens.chat import ChatScreen
    from chatkv.tui.screens.events import EventsScreen
    from chatkv.tui.screens.help import HelpScreen
    from chatkv.tui.screens.models import ModelScreen, SpecScreen
    from chatkv.tui.screens.overlong import OverlongScreen
    from chatkv.tui.screens.sessions import SessionsScreen
    from chatkv.tui.screens.settings import SettingsScreen
    from chatkv.tui.screens.summary import SummaryScreen
    from chatkv.tui.settings.app_keys import APP_KEYS
    from chatkv.tui.widgets.find_bar import FindInput
    from chatkv.tui.widgets.talk.turn_keys import TURN_KEYS
    from chatkv.tui.widgets.writing.composer import Composer

    questions = (ConfirmScreen, NameScreen, SpecScreen, OverlongScreen)
    found = {
        "Conversation": ChatScreen.BINDINGS,
        "Message": Composer.BINDINGS,
        "Everywhere": APP_KEYS,
        "A marked turn": TURN_KEYS,
        "Find": FindInput.BINDINGS,
        "Sessions": SessionsScreen.BINDINGS,
        "Models": ModelScreen.BINDINGS,
        "Settings": SettingsScreen.BINDINGS,
        "Summary": SummaryScreen.BINDINGS,
        "Events": EventsScreen.BINDINGS,
        "Questions": [binding for screen in questions for binding in screen.BINDINGS],
        "This list": HelpScreen.BINDINGS,
    }
    return {name: tuple(Binding.make_bindings(keys)) for name, keys in found.items()}


@functools.cache
def bindings() -> dict[str, tuple[Binding, ...]]:
    """Id → the bindings with it, one for each key."""
    found: dict[str, tuple[Binding, ...]] = {}
    for place in places().values():
        for binding in place:
            if binding.id and binding not in found.get(binding.id, ()):
                found[binding.id] = (*found.get(binding.id, ()), binding)
    return found


def spoken(key: str) -> str:
    """A key as it is printed on keyboards: `Ctrl+O`, `Esc`, `?`."""
    return "+".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


def _normal(keys: str) -> tuple[str, ...]:
    """`ctrl+x,?` → `ctrl+x`, `question_mark`, as Textual calls them."""
    return tuple(binding.key for binding in Binding.make_bindings([Binding(keys, "", "")]))


def _exists(key: str) -> bool:
    *modifiers, last = key.split("+")
    if len(set(modifiers) & _MODIFIERS) < len(modifiers):
        return False
    return (last.isalnum() and len(last) == 1) or last in _KEYS or _is_character(last.replace("_", " "))


def _is_character(name: str) -> bool:
    try:
        return bool(unicodedata.lookup(name))
    except KeyError:
        return False
