"""Which model answers: the choice, and the way from one to another.

Plain asyncio, no widgets: hands out updates as the conversation does, and has the link change the worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from chatkv.models.installed import find_problem, lasting
from chatkv.tui.behind.link import Died, Link
from chatkv.tui.behind.room import Room
from chatkv.tui.behind.stock import Offer, Stock
from chatkv.tui.inert import one_line
from chatkv.tui.talk.conversation import Conversation
from chatkv.tui.talk.exchange import Front, GiveBack, Remark, Say, Update

_RUNNING = Say("An answer is running; ⟨chat.stop⟩ stops it. The model can be changed after that.", "warning")
_CARRIED = Say("The summary that this session begins with would be lost: say something first.", "warning")


class Choosing:
    """The models for one conversation. `do` carries updates out, in order."""

    def __init__(
        self, stock: Stock, link: Link, conversation: Conversation, do: Callable[[list[Update]], None]
    ) -> None:
        self._stock = stock
        self._link = link
        self._conversation = conversation
        self._do = do
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self, *, typed: bool) -> None:
        """Load the model of the session that the app begins with in place of the configured one, if it is known and
        here. `typed`: the configured one was named for this run, and so is chosen."""
        held = self._conversation.held
        if typed:
            held.agree(self._link.model)
        elif held.spec and held.spec != self._link.model and await self._stock.has(held.name, held.spec):
            await self._link.change(held.spec)

    async def offers(self) -> list[Offer]:
        """What can be chosen now."""
        held = self._conversation.held
        return await self._stock.offers(held.name, held.spec, self._link.model)

    async def room(self) -> Room:
        """How much memory there is for a model and its KV."""
        return await self._stock.room()

    def ask(self) -> None:
        """Bring the choice to the front, unless an answer runs."""
        self._do([_RUNNING if self._conversation.busy else Front("models")])

    def chosen(self, spec: str | None) -> None:
        """Do what was chosen; None = leave the model as it is."""
        if spec is not None:
            self.choose(spec)

    def choose(self, spec: str, typed: str = "") -> None:
        """Let the model `spec` go on with the conversation; an empty one asks. `typed` comes back if it cannot."""
        conversation, spec = self._conversation, lasting(spec.strip())
        other = spec != self._link.model
        back: list[Update] = [GiveBack(typed)] if typed else []
        if conversation.busy:
            self._do([*back, _RUNNING])
        elif not spec:
            self.ask()
        elif other and conversation.place.carries:
            self._do([*back, _CARRIED])
        elif other and (problem := find_problem(spec)):
            self._do([*back, Say(problem, "error")])
        else:
            self._go_on_with(spec)

    def reload(self) -> bool:
        """Load the same model again, with the settings as they are now; False where something would be lost."""
        if self._conversation.busy or self._conversation.place.carries:
            return False
        self._do([Say("Loading the model again."), *self._conversation.part()])
        self._beside(self._link.change(self._link.model))
        return True

    def look(self) -> None:
        """Find out whether the session's own model is here, where that matters and is not known."""
        if self._conversation.held.differs and self._conversation.held.here is None:
            self._beside(self._look())

    def fallen(self, died: Died) -> None:
        """The model that was wanted cannot be loaded: say why, and offer the choice again."""
        reason = one_line(died.reason)
        said = f"{one_line(died.unloadable)} could not be loaded: {reason} — loading the former model again."
        self._do([Say(said, "error"), Front("models")])

    async def close(self) -> None:
        """Begin nothing more."""
        for task in self._tasks:
            task.cancel()

    def _go_on_with(self, spec: str) -> None:
        held = self._conversation.held
        held.agree(spec)
        if spec != self._link.model or self._link.given_up:
            self._do([Say(f"Loading {one_line(spec)}."), *self._conversation.part()])
            self._beside(self._link.change(spec))
        elif held.differs:
            self._do([Say(f"{one_line(held.loaded)} goes on with this session.")])
        else:
            self._do([Remark()])

    async def _look(self) -> None:
        held = self._conversation.held
        wanted = (held.name, held.spec)
        here = await self._stock.has(*wanted)
        if wanted == (held.name, held.spec):
            held.here = here
            self._do([Remark()])

    def _beside(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
