"""What an answer follows, worked out when its turn runs: room is made first, the archive is asked, then it is rendered.

Each method returns the `prepare` of an `Order`. Knows nothing of decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from chatkv.memory.room import LEAST_ANSWER
from chatkv.protocol import Event
from chatkv.runtime import Runtime
from chatkv.session.compaction import Cancelled
from chatkv.session.context import Context
from chatkv.session.recollection import Recollection
from chatkv.session.upkeep import Upkeep
from chatkv.store import MessageRecord
from chatkv.tokens import Message, Rendered, Segment
from chatkv.turn import Prompt

Prepare = Callable[[Cancelled], Generator[Event, None, Prompt]]


class Prompts:
    """Prompts of one conversation. While room is made, the branch is what stands before the message."""

    def __init__(self, runtime: Runtime, context: Context, upkeep: Upkeep, archive: Recollection) -> None:
        self.runtime = runtime
        self._context = context
        self._upkeep = upkeep
        self._archive = archive

    def message(self, base: Sequence[MessageRecord], user: MessageRecord, answer: MessageRecord) -> Prepare:
        """A new message `user` at the end of `base`."""

        def prepare(cancelled: Cancelled) -> Generator[Event, None, Prompt]:
            n_new = self.tokens_of(user)
            yield from self._upkeep.make_room(n_new, cancelled)
            room = self._upkeep.planner.left_for_recall(n_new)
            asked = yield from self._archive.recall_for(user, room)
            prompt = self._render([*base, asked], recalled_for=user.id)
            over = len(prompt.ids) + LEAST_ANSWER - self._upkeep.planner.room.ceiling
            if over > 0:  # the template puts more around a message than was reckoned with
                in_turn = self._upkeep.in_turn
                yield from self._upkeep.make_room(n_new + over, cancelled)
                self._upkeep.in_turn += in_turn
                prompt = self._render([*base, asked], recalled_for=user.id)
            yield from self._upkeep.keeper.restore(prompt)
            expected = self._upkeep.expected(prompt)
            self._upkeep.follow([*base, asked, answer])
            return Prompt(prompt, expected, self._upkeep.in_turn)

        return prepare

    def preview(self, text: str, *, recall: bool = True) -> Rendered:
        """The prompt that `text` would make if it were said now and fits; nothing is stored or computed.

        Without `recall`, nothing is looked up for it.
        """
        room = self._upkeep.planner.left_for_recall(self.runtime.codec.count(text))
        recalled = self._archive.foreseen(text, room) if recall else ""
        turn = self._context.leaf.turn + 1 if self._context.leaf else 1
        asked = Message("user", text, turn, recalled=recalled)
        return self.runtime.chat.render([*self._context.messages(), asked], answer=True)

    @property
    def may_recall(self) -> bool:
        """Whether anything can be recalled for the next message."""
        return self._archive.may_find

    def again(self, path: Sequence[MessageRecord], answer: MessageRecord) -> Prepare:
        """Another `answer` to the message that `path` ends with."""

        def prepare(cancelled: Cancelled) -> Generator[Event, None, Prompt]:
            user = path[-1]
            yield from self._make_room(path[:-1], self.tokens_of(user), cancelled)
            self._upkeep.follow([*path, answer])
            prompt = self._render(path, recalled_for=user.id)
            yield from self._upkeep.keeper.restore(prompt)
            return Prompt(prompt, 0, self._upkeep.in_turn)

        return prepare

    def continued(self, path: Sequence[MessageRecord]) -> Prepare:
        """More of the answer that `path` ends with; what was recalled for it goes along if the KV still holds it."""
        user, answer = path[-2:]
        owners = {(segment.kind, segment.turn) for segment in self.runtime.engine.ledger.segments}
        recalled_for = user.id if ("recalled", user.turn) in owners else None

        def prepare(cancelled: Cancelled) -> Generator[Event, None, Prompt]:
            n_tokens = len(self.runtime.engine.ledger)
            self._upkeep.in_turn = 0
            if n_tokens + LEAST_ANSWER > self._upkeep.planner.room.ceiling:
                yield from self._make_room(path[:-2], self.tokens_of(user) + len(answer.ids), cancelled)
                self._upkeep.follow(path)
            else:
                yield from self._upkeep.heal_front(cancelled)
            opening = self._render(path[:-1], recalled_for=recalled_for)
            thought = Segment("thought", answer.turn, answer.answer_start)
            visible = Segment("answer", answer.turn, len(answer.ids) - answer.answer_start)
            whole = Rendered((*opening.ids, *answer.ids), (*opening.segments, thought, visible))
            yield from self._upkeep.keeper.restore(whole)
            return Prompt(whole, 0, self._upkeep.in_turn)

        return prepare

    def tokens_of(self, user: MessageRecord) -> int:
        """Tokens of a user message and of what was recalled for it."""
        count = self.runtime.codec.count
        return count(user.text) + (count(user.recalled) if user.recalled else 0)

    def _make_room(
        self, base: Sequence[MessageRecord], n_new: int, cancelled: Cancelled
    ) -> Generator[Event, None, None]:
        self._upkeep.follow(base)
        yield from self._upkeep.make_room(n_new, cancelled)

    def _render(self, path: Sequence[MessageRecord], *, recalled_for: int | None) -> Rendered:
        return self.runtime.chat.render(self._context.messages(path, recalled_for=recalled_for), answer=True)
