"""Which model a session was held with, and whether the one that is loaded may go on with it.

Plain state: loads nothing, asks nobody.
"""

from __future__ import annotations

import os.path


class Held:
    """One session and one loaded model at a time. A `spec` is what one writes to load a model."""

    def __init__(self) -> None:
        self.name = ""
        """Display name of the session's own model; empty for a session in which nothing was said."""
        self.spec = ""
        """What that is loaded by; empty where it is not known."""
        self.here: bool | None = None
        """Whether it is on this machine; None = not looked for yet."""
        self.loaded = ""
        """Display name of the loaded model; empty while none is."""
        self.loading = ""
        """What the worker loads, or has loaded."""
        self._agreed = ""

    def take(self, name: str, spec: str) -> None:
        """Another session is on screen, held with this model."""
        self.name, self.spec, self.here, self._agreed = name, spec, None, ""

    def learn(self, name: str) -> None:
        """The session is found to be held with this model now: another window went on with it."""
        if name != self.name:
            self.take(name, "")

    def go_on(self) -> None:
        """Something was said in the session, so that the loaded model is its own."""
        self.take(self.loaded, self.loading)

    def agree(self, spec: str) -> None:
        """The person wants this model to go on with the session."""
        self._agreed = spec

    @property
    def differs(self) -> bool:
        """Whether the loaded model is not the session's own."""
        if not self.name or not self.loaded:
            return False
        return self.name != self.loaded or _apart(self.spec, self.loading)

    @property
    def strange(self) -> bool:
        """Whether the loaded model is not the session's own, and the person has not said that it may go on."""
        return self.differs and self._agreed != self.loading

    @property
    def whereabouts(self) -> str:
        """Whether the session's own model is on this machine, as the end of a clause."""
        if self.here:
            return ", which is on this machine"
        if self.here is None:
            return ""
        gone = os.path.isabs(self.spec)
        return f", which is no longer at {self.spec}" if gone else ", which is not on this machine"

    @property
    def words(self) -> str:
        """What is to be said for as long as another model is loaded; empty where that is not so."""
        if not self.differs:
            return ""
        if not self.strange:
            return f"Held with {self.name}; {self.loaded} goes on with it."
        return (
            f"Held with {self.name}{self.whereabouts}; {self.loaded} is loaded. "
            "Read only until you choose: ⟨composer.submit⟩, ⟨chat.model⟩ or a click here."
        )


def _apart(spec: str, other: str) -> bool:
    """Whether two models of one name are two: folders that both exist and are not the same one."""
    try:
        both = os.path.isabs(spec) and os.path.isabs(other)
        return both and not os.path.samefile(spec, other)
    except OSError:
        return False  # one of them was moved
