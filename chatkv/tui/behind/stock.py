"""The models that can be chosen, as the screen lists them, and the room that there is for them.

Looks beside the screen, so that no key waits for a disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from chatkv.models.installed import InstalledModel, find_model, installed_models, presumed_spec
from chatkv.models.known import suggested
from chatkv.models.shape import Shape, shape_of
from chatkv.tui.behind.room import NO_ROOM, Room


@dataclass(frozen=True, slots=True)
class Offer:
    """A model. `spec` loads it; `nbytes` 0 = it has to be fetched, or its size is not known."""

    spec: str
    nbytes: int
    own: bool = False
    """The session on screen was held with it."""
    loaded: bool = False
    about: str = ""
    """What a model on the hub is for; empty for one that is here."""
    shape: Shape = field(default=Shape(), compare=False)
    """About what it takes in memory."""


class Stock:
    """What is on this machine. `folder` and `hub_cache` as in `chatkv.models.installed_models`; `room` finds out how
    much memory there is for a model."""

    def __init__(
        self, folder: Path, hub_cache: Path | None = None, room: Callable[[], Awaitable[Room]] | None = None
    ) -> None:
        self._folder, self._hub_cache, self._room = folder, hub_cache, room

    async def room(self) -> Room:
        """How much memory there is for a model and its KV."""
        return NO_ROOM if self._room is None else await self._room()

    async def has(self, name: str, spec: str) -> bool:
        """Whether a model is here, by what loads it, else by what its `name` tells of that."""
        return await asyncio.to_thread(self._find, spec or presumed_spec(name)) is not None

    async def offers(self, name: str, spec: str, loaded: str) -> list[Offer]:
        """The session's own model (if it is here), the `loaded` one, and every other that is installed."""
        return await asyncio.to_thread(self._offers, spec or presumed_spec(name), loaded)

    def _find(self, spec: str) -> InstalledModel | None:
        return find_model(spec, self._folder, self._hub_cache)

    def _offers(self, own: str, loaded: str) -> list[Offer]:
        found: dict[str, InstalledModel | None] = {}
        if (model := self._find(own)) is not None:
            found[own] = model
        found[loaded] = self._find(loaded)
        for model in installed_models(self._folder, self._hub_cache):
            found.setdefault(model.name, model)
        return [
            Offer(
                spec,
                model.nbytes if model else 0,
                spec == own,
                spec == loaded,
                shape=shape_of(model.path) if model and model.nbytes else Shape(),
            )
            for spec, model in found.items()
        ]


def on_the_hub(room: Room, here: list[Offer]) -> list[Offer]:
    """A few well-known models that would fit and are not here, the largest first."""
    known = {offer.spec for offer in here}
    return [
        Offer(model.spec, 0, about=model.about, shape=model.shape)
        for model in suggested(room.nbytes, 5, slow=room.slow)
        if model.spec not in known
    ]
