"""The models that can be chosen, as the screen lists them. Looks beside the screen, so that no key waits for a disk."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from chatkv.models.installed import InstalledModel, find_model, installed_models, presumed_spec


@dataclass(frozen=True, slots=True)
class Offer:
    """A model on this machine. `spec` loads it; `nbytes` 0 = it has to be fetched, or its size is not known."""

    spec: str
    nbytes: int
    own: bool = False
    """The session on screen was held with it."""
    loaded: bool = False


class Stock:
    """What is on this machine. `folder` and `hub_cache` as in `chatkv.models.installed_models`."""

    def __init__(self, folder: Path, hub_cache: Path | None = None) -> None:
        self._folder, self._hub_cache = folder, hub_cache

    async def has(self, name: str, spec: str) -> bool:
        """Whether a model is here, by what loads it, else by what its `name` tells of that."""
        return await asyncio.to_thread(self._find, spec or presumed_spec(name)) is not None

    async def offers(self, name: str, spec: str, loaded: str) -> list[Offer]:
        """The session's own model (if it is here), the `loaded` one, and every other that is installed."""
        return await asyncio.to_thread(self._offers, spec or presumed_spec(name), loaded)

    def _find(self, spec: str) -> InstalledModel | None:
        return find_model(spec, self._folder, self._hub_cache)

    def _offers(self, own: str, loaded: str) -> list[Offer]:
        sizes = {}
        if (found := self._find(own)) is not None:
            sizes[own] = found.nbytes
        found = self._find(loaded)
        sizes[loaded] = found.nbytes if found else 0
        for model in installed_models(self._folder, self._hub_cache):
            sizes.setdefault(model.name, model.nbytes)
        return [Offer(spec, nbytes, spec == own, spec == loaded) for spec, nbytes in sizes.items()]
