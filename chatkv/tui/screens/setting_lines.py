"""How settings read on the settings screen: a line each, what is to be known of one, what became of a change."""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual.content import Content

from chatkv.tui.inert import one_line
from chatkv.tui.settings.preferences import Preference, shown

_NAME_CELLS = 20
_VALUE_CELLS = 40
_WHEN = {
    "now": "acts at once",
    "reload": "acts when the model is loaded again",
    "start": "acts at the next start",
}


def fitting(preferences: Iterable[Preference], words: str) -> list[Preference]:
    """Those in whose key, meaning or value all the words are found."""
    wanted = words.lower().split()
    return [
        one for one in preferences if all(w in f"{one.key} {one.meaning} {one.shown}".lower() for w in wanted)
    ]


def line(preference: Preference) -> Content:
    """Name, value and, where it is not the default, where the value comes from."""
    name = preference.key.rpartition(".")[2]
    value = one_line(preference.shown)
    if len(value) > _VALUE_CELLS:
        value = f"{value[: _VALUE_CELLS - 1]}…"
    changed = preference.origin != "default" and preference.value != preference.default
    origin = f"  {preference.origin}" if preference.origin != "default" else ""
    return Content.assemble(
        f"  {name:<{_NAME_CELLS}} ", (value, "bold" if changed else ""), (origin, "$text-muted")
    )


def about(preference: Preference) -> str:
    """What it means, what else there is to choose, and when a change acts."""
    meaning = re.sub(r"^\w", lambda first: first[0].upper(), preference.meaning).rstrip(".")
    facts = [f"default {one_line(shown(preference.key, preference.default))}", _WHEN[preference.acts]]
    if preference.overridden:
        facts.append(f"set by the {preference.origin} in this run")
    return f"{meaning}.\n{preference.key} · {' · '.join(facts)}"


def outcome(preference: Preference, *, key_for_reload: str) -> str:
    """What became of a change that was saved."""
    if preference.overridden:
        return f"Saved for later: in this run the {preference.origin} sets it."
    if preference.in_force:
        return "Saved, and in force."
    if preference.acts == "start":
        model = " /model changes it now." if preference.key == "model" else ""
        return f"Saved. It acts at the next start.{model}"
    return f"Saved. It acts when the model is loaded again: {key_for_reload} does that now."
