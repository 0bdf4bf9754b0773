"""One conversation: a branch of the message tree, and the turns, edits and forks that move along it.

Every method that answers is a generator of protocol events. Text is committed to the store before the model runs.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Iterator, Sequence

from chatkv.answer import GrowingAnswer
from chatkv.errors import ContextFullError, UsageError
from chatkv.memory import summary
from chatkv.protocol import Accepted, Event, Opened, Recalled
from chatkv.runtime import Runtime
from chatkv.session.compaction import Cancelled, exchange_of
from chatkv.session.context import Context
from chatkv.session.drafting import Drafting
from chatkv.session.prompts import Prepare, Prompts
from chatkv.session.recollection import Recollection
from chatkv.session.remembering import Remembering
from chatkv.session.upkeep import Upkeep
from chatkv.store import MessageRecord, SessionRecord, Store, TurnRecord
from chatkv.turn import Order, RunningTurn

_CARRIED = "Summary of an earlier conversation:\n"
_CUT = ("length", "stopped", "partial", "error")


class Session:
    """A conversation in progress. `record` is None until its first message is stored."""

    def __init__(
        self,
        runtime: Runtime,
        store: Store,
        *,
        record: SessionRecord | None = None,
        system: str = "",
        carried_from: str | None = None,
    ) -> None:
        self._began_at = record.created_at if record else time.time()
        self.runtime = runtime = runtime.dated(self._began_at)
        self.store = store
        self.context = Context(store, record, (record.system or "") if record else system)
        self.upkeep = Upkeep(runtime, self.context)
        self.archive = Recollection(runtime, self.context)
        self.memory = Remembering(self.context, self.upkeep)
        self.prompts = Prompts(runtime, self.context, self.upkeep, self.archive)
        self.drafting = Drafting(self.upkeep, self.prompts)
        self._carried_from = carried_from

    @property
    def record(self) -> SessionRecord | None:
        """The session in the store; None until its first message is."""
        return self.context.record

    @property
    def leaf(self) -> MessageRecord | None:
        """The newest message of the branch in use."""
        return self.context.leaf

    def opened(self) -> Opened:
        """The event that says what is open."""
        if self.record is None:
            return Opened("", "", self.runtime.engine.loaded.name)
        leaf_id = self.leaf.id if self.leaf else None
        return Opened(self.record.id, self.record.title, self.record.model, leaf_id)

    def adopt(self, runtime: Runtime) -> None:
        """Go on with changed settings; the KV is compared with what they render, not assumed."""
        runtime = runtime.dated(self._began_at)
        self.runtime = self.archive.runtime = self.prompts.runtime = runtime
        self.upkeep.adopt(runtime)

    # ── turns ────────────────────────────────────────────────────────────────────────────────────────────

    def send(
        self,
        text: str,
        cancelled: Cancelled,
        *,
        max_new_tokens: int | None,
        received_at: float,
        before: list[MessageRecord] | None = None,
    ) -> Iterator[Event]:
        """Say `text` at the end of the branch. Raises `UsageError` if empty, `ContextFullError` if it cannot fit.

        `before` is the branch to go back to if it is stopped before its first token (default: this one).
        """
        if not text.strip():
            raise UsageError("There is nothing to send.", "Type a message first.")
        self.upkeep.interrupt()
        self._require_room(self.runtime.codec.count(text))
        self.drafting.sent(text)
        base = self.context.path
        fresh, before = self.record is None, base if before is None else before
        record = self._stored_record(text)
        parent, turn = (self.leaf.id, self.leaf.turn + 1) if self.leaf else (None, 1)
        user, answer = self.store.add_exchange(record.id, parent, text, turn, self.runtime.engine.loaded.name)
        if fresh:
            yield self.opened()
        yield Accepted(turn, user.id, answer.id, text)
        prepare = self.prompts.message(base, user, answer)
        yield from self._answer(
            prepare, [*base, user, answer], before, cancelled, max_new_tokens, received_at
        )

    def regenerate(
        self,
        cancelled: Cancelled,
        *,
        max_new_tokens: int | None,
        received_at: float,
        message_id: int | None = None,
    ) -> Iterator[Event]:
        """Answer the last user message, or user message `message_id`, again, beside the old answer. Raises `UsageError`
        if there is none."""
        path = list(self.store.path(self._member(message_id).id) if message_id else self.context.path)
        while path and path[-1].role == "assistant":
            path.pop()
        if not path:
            raise UsageError("There is no message to answer again.", "Send one first.")
        self.upkeep.interrupt()
        user, before = path[-1], self.context.path
        answer = self.store.add_message(
            user.session_id,
            user.id,
            "assistant",
            "",
            status="streaming",
            turn=user.turn,
            model=self.runtime.engine.loaded.name,
        )
        yield Accepted(user.turn, user.id, answer.id, user.text)
        prepare = self.prompts.again(path, answer)
        yield from self._answer(prepare, [*path, answer], before, cancelled, max_new_tokens, received_at)

    def extend(
        self, cancelled: Cancelled, *, max_new_tokens: int | None, received_at: float
    ) -> Iterator[Event]:
        """Go on with the last answer where it was cut. Raises `UsageError` if it was not."""
        if self.leaf is None or self.leaf.role != "assistant" or self.leaf.status not in _CUT:
            raise UsageError(
                "The last answer is complete: there is nothing to continue.", "Send a message instead."
            )
        self.upkeep.interrupt()
        path = self.context.path
        answer, user = path[-1], path[-2]
        yield Accepted(answer.turn, user.id, answer.id, user.text)
        prepare = self.prompts.continued(path)
        yield from self._answer(prepare, path, path, cancelled, max_new_tokens, received_at)

    def edit(
        self,
        message_id: int,
        text: str,
        cancelled: Cancelled,
        *,
        max_new_tokens: int | None,
        received_at: float,
    ) -> Iterator[Event]:
        """Say `text` in place of an earlier user message, on a new branch. Older turns stay in the KV."""
        message = self._member(message_id)
        if message.role != "user":
            raise UsageError(f"Message {message_id} is an answer; only what you said can be edited.")
        before = self.context.path
        self.upkeep.follow(self.store.path(message.parent_id))
        try:
            yield from self.send(
                text, cancelled, max_new_tokens=max_new_tokens, received_at=received_at, before=before
            )
        except (UsageError, ContextFullError):
            self.upkeep.follow(before)
            raise

    def fork(self, message_id: int) -> Iterator[Event]:
        """Make answer `message_id` the end of the conversation; what followed stays as a branch."""
        message = self._member(message_id)
        if message.role != "assistant":
            raise UsageError(f"Message {message_id} is yours; fork from the answer before it, or edit it.")
        yield from self._go_to(message)

    def switch(self, message_id: int) -> Iterator[Event]:
        """Go to the branch of a message: to the newest message below it."""
        yield from self._go_to(self.store.newest_leaf(self._member(message_id).id))

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────

    def look_up(self, words: str) -> Recalled:
        """Look `words` up in the archive; what is found goes along with the next message."""
        return self.archive.look_up(words, self.upkeep.planner.left_for_recall(0))

    def keep(self, text: str, name: str) -> Iterator[Event]:
        """Keep `text` as a document of this conversation. Raises `UsageError` if it is empty."""
        if not text.strip():
            raise UsageError("There is nothing to keep.", "The text is empty.")
        fresh = self.record is None
        record = self._stored_record(name or text)
        if fresh:
            yield self.opened()
        yield self.archive.keep(record.id, text, name, self.upkeep.planner.room.recall)

    def carried(self, system: str) -> str:
        """The system part of a session that goes on from this one: `system`, and what was summarized here.

        Without a summary, one is extracted from all turns.
        """
        record = self.context.summary
        rounds = [round for round in self.context.rounds if round.turn not in self.context.gone()]
        words = summary.written(
            None,
            [exchange_of(round) for round in rounds],
            previous=record.text if record else "",
            edited=record.edited if record else "",
            limit=self.upkeep.planner.room.summary,
            count=self.runtime.codec.count,
        )
        return f"{system}\n\n{_CARRIED}{words.text}".strip()

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────────

    def _go_to(self, leaf: MessageRecord) -> Iterator[Event]:
        self.store.set_leaf(leaf.session_id, leaf.id)
        self.upkeep.follow(self.store.path(leaf.id))
        yield self.opened()
        yield self.context.marks()

    def _answer(
        self,
        prepare: Prepare,
        path: Sequence[MessageRecord],
        before: Sequence[MessageRecord],
        cancelled: Cancelled,
        max_new_tokens: int | None,
        received_at: float,
    ) -> Iterator[Event]:
        """Run the turn at the end of `path`; stopped before its first token, it leaves the branch `before`."""
        started, (user, answer) = time.perf_counter(), path[-2:]
        growing = GrowingAnswer(self.runtime, self.store, answer)
        limit = max_new_tokens or self.runtime.max_new_tokens
        order = Order(
            prepare, answer.turn, user.id, growing, limit, self.upkeep.planner.room.ceiling, received_at
        )
        running = RunningTurn(self.runtime, order)
        try:
            yield from running.run(cancelled)
            if running.out_of_memory:
                yield self.upkeep.lower_limit()
        finally:
            self._save_turn(running, time.perf_counter() - started)
            ended = self.store.message(answer.id)
            if running.finish == "cancelled" and not ended.ids:
                self.store.set_leaf(user.session_id, before[-1].id if before else None)
                self.upkeep.follow(before)
            else:
                self.upkeep.follow([*path[:-2], self.store.message(user.id), ended])

    def _save_turn(self, running: RunningTurn, total_s: float) -> None:
        event, record = running.result(), self._existing_record()
        fields = {name: getattr(event, name) for name in event.__slots__}
        model = self.runtime.engine.loaded.name
        self.store.add_turn(
            TurnRecord(session_id=record.id, model=model, total_s=total_s, created_at=time.time(), **fields)
        )

    def _require_room(self, n_new: int) -> None:
        """Raise `ContextFullError`, with counts and choices, for a message that fits whatever is compacted."""
        over = self.upkeep.planner.excess(n_new)
        if over > 0:
            engine = self.runtime.engine
            what = "context" if engine.limit_tokens == engine.loaded.context_tokens else "memory budget"
            raise ContextFullError(
                f"This message is {n_new:,} tokens; the {what} holds {engine.limit_tokens:,} and has room for "
                f"{max(0, n_new - over):,} in a message.",
                "Send its beginning, or keep it as a document to recall from.",
                choices=("head", "document"),
            )

    def head_of(self, text: str) -> str:
        """As much of the beginning of `text` as fits into one message."""
        room, count = -self.upkeep.planner.excess(0), self.runtime.codec.count
        n_fitting = bisect.bisect_right(range(len(text) + 1), room, key=lambda n: count(text[:n]))
        return text[: max(0, n_fitting - 1)]

    def _member(self, message_id: int) -> MessageRecord:
        message = self.store.message(message_id)
        if self.record is None or message.session_id != self.record.id:
            raise UsageError(f"Message {message_id} belongs to another session.")
        return message

    def _existing_record(self) -> SessionRecord:
        assert self.record is not None, "a session with messages is stored"
        return self.record

    def _stored_record(self, first_text: str) -> SessionRecord:
        return self.context.stored(
            self.runtime.engine.loaded.name, self.runtime.spec, first_text, self._carried_from
        )
