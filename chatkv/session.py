"""One conversation: a branch of the message tree, and the turns, edits and forks that move along it.

Every method that answers is a generator of protocol events. Text is committed to the store before the model runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from chatkv.answer import GrowingAnswer
from chatkv.errors import ContextFullError, UsageError
from chatkv.protocol import Accepted, Event, Opened, Prefill
from chatkv.runtime import Runtime
from chatkv.store import MessageRecord, SessionRecord, Store, TurnRecord
from chatkv.tokens import Message, Rendered, Segment
from chatkv.turn import Order, RunningTurn, prefix_break

_TITLE_CHARS = 60
_CUT = ("length", "stopped", "partial", "error")

Cancelled = Callable[[], bool]


class Session:
    """A conversation in progress. `record` is None until its first message is stored."""

    def __init__(
        self, runtime: Runtime, store: Store, *, record: SessionRecord | None = None, system: str = ""
    ) -> None:
        self.runtime = runtime
        self.store = store
        self.record = record
        self._system = (record.system or "") if record else system
        self._path = store.path(record.leaf_id) if record and record.leaf_id is not None else []
        self._stable: Rendered | None = None
        self._unsettled = True
        self._confirmed = 0

    @property
    def leaf(self) -> MessageRecord | None:
        """The newest message of the branch in use."""
        return self._path[-1] if self._path else None

    def opened(self) -> Opened:
        """The event that says what is open."""
        if self.record is None:
            return Opened("", "", self.runtime.engine.loaded.name)
        return Opened(
            self.record.id, self.record.title, self.record.model, self.leaf.id if self.leaf else None
        )

    def adopt(self, runtime: Runtime) -> None:
        """Go on with changed settings; the KV is compared with what they render, not assumed."""
        confirmed, self.runtime = self._confirmed, runtime
        self._follow(self._path)
        self._confirmed = confirmed

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
        turn = self._turn_after(self.leaf)
        prompt = self._prompt([*self._messages(), Message("user", text, turn)])
        expected = self._expected_prefix(prompt)
        fresh, before = self.record is None, self._path if before is None else before
        record = self._stored_record(text)
        parent = self.leaf.id if self.leaf else None
        user, answer = self.store.add_exchange(record.id, parent, text, turn, self.runtime.engine.loaded.name)
        if fresh:
            yield self.opened()
        self._path = [*self._path, user, answer]
        yield Accepted(turn, user.id, answer.id, text)
        limit = max_new_tokens or self.runtime.max_new_tokens
        yield from self._answer(prompt, cancelled, limit, received_at, before, expected)

    def regenerate(
        self, cancelled: Cancelled, *, max_new_tokens: int | None, received_at: float
    ) -> Iterator[Event]:
        """Answer the last user message again, beside the old answer. Raises `UsageError` if there is none."""
        path = list(self._path)
        while path and path[-1].role == "assistant":
            path.pop()
        if not path:
            raise UsageError("There is no message to answer again.", "Send one first.")
        record, user = self._existing_record(), path[-1]
        prompt = self._prompt(self._messages(path))
        answer = self.store.add_message(
            record.id,
            user.id,
            "assistant",
            "",
            status="streaming",
            turn=user.turn,
            model=self.runtime.engine.loaded.name,
        )
        self.store.set_leaf(record.id, answer.id)
        before, self._path = self._path, [*path, answer]
        yield Accepted(user.turn, user.id, answer.id, user.text)
        yield from self._answer(
            prompt, cancelled, max_new_tokens or self.runtime.max_new_tokens, received_at, before
        )

    def extend(
        self, cancelled: Cancelled, *, max_new_tokens: int | None, received_at: float
    ) -> Iterator[Event]:
        """Go on with the last answer where it was cut. Raises `UsageError` if it was not."""
        if self.leaf is None or self.leaf.role != "assistant" or self.leaf.status not in _CUT:
            raise UsageError(
                "The last answer is complete: there is nothing to continue.", "Send a message instead."
            )
        answer, user = self.leaf, self._path[-2]
        opening = self._prompt(self._messages(self._path[:-1]), n_more=len(answer.ids))
        thought = Segment("thought", answer.turn, answer.answer_start)
        visible = Segment("answer", answer.turn, len(answer.ids) - answer.answer_start)
        prompt = Rendered((*opening.ids, *answer.ids), (*opening.segments, thought, visible))
        yield Accepted(answer.turn, user.id, answer.id, user.text)
        limit = max_new_tokens or self.runtime.max_new_tokens
        yield from self._answer(prompt, cancelled, limit, received_at, self._path)

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
        before = self._path
        self._follow(self.store.path(message.parent_id) if message.parent_id is not None else [])
        try:
            yield from self.send(
                text, cancelled, max_new_tokens=max_new_tokens, received_at=received_at, before=before
            )
        except (UsageError, ContextFullError):
            self._follow(before)
            raise

    def fork(self, message_id: int) -> Iterator[Event]:
        """Make answer `message_id` the end of the conversation; what followed stays as a branch."""
        message = self._member(message_id)
        if message.role != "assistant":
            raise UsageError(f"Message {message_id} is yours; fork from the answer before it, or edit it.")
        self.store.set_leaf(message.session_id, message.id)
        self._follow(self.store.path(message.id))
        yield self.opened()

    # ── idle work ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def has_idle_work(self) -> bool:
        """Whether the KV can be brought closer to what the next prompt must begin with."""
        return self._unsettled

    def idle_step(self) -> Iterator[Event]:
        """Canonicalize for a moment: cut the KV to the stable prefix, prefill what it lacks of it."""
        engine = self.runtime.engine
        if self._stable is None:
            self._stable = self.runtime.chat.stable_prefix(self._messages())
            kept = self.runtime.prefiller.reachable(self._stable.ids)
            if kept < min(self._confirmed, len(self._stable.ids) - 1):
                yield prefix_break(self.runtime, self._stable.ids, kept=kept, expected=self._confirmed)
            return
        if len(self._stable.ids) > engine.limit_tokens:
            self._unsettled = False
            return
        n_fed = self.runtime.prefiller.idle_step(self._stable)
        if n_fed:
            yield Prefill(len(engine.ledger), len(self._stable.ids), early=True)
            return
        self._unsettled, self._confirmed = False, len(self._stable.ids)
        engine.cache.give_back()
        yield self.runtime.kv_event()

    def rest(self) -> None:
        """No more idle work until the conversation moves on."""
        self._unsettled = False

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────────

    def _answer(
        self,
        prompt: Rendered,
        cancelled: Cancelled,
        limit: int,
        received_at: float,
        before: list[MessageRecord],
        expected: int = 0,
    ) -> Iterator[Event]:
        """Run the turn at the end of the path; stopped before its first token, it leaves the branch `before`."""
        started, (user, answer) = time.perf_counter(), self._path[-2:]
        growing = GrowingAnswer(self.runtime, self.store, answer)
        order = Order(prompt, answer.turn, user.id, growing, limit, received_at, expected)
        running = RunningTurn(self.runtime, order)
        try:
            yield from running.run(cancelled)
        finally:
            self._save_turn(running, time.perf_counter() - started)
            ended = self.store.message(answer.id)
            if running.finish == "cancelled" and not ended.ids:
                self.store.set_leaf(user.session_id, before[-1].id if before else None)
                self._follow(before)
            else:
                self._follow([*self._path[:-1], ended])

    def _follow(self, path: list[MessageRecord]) -> None:
        """Make `path` the branch in use; the KV is settled to it when idle."""
        self._path, self._stable, self._unsettled, self._confirmed = path, None, True, 0

    def _save_turn(self, running: RunningTurn, total_s: float) -> None:
        event, record = running.result(), self._existing_record()
        fields = {name: getattr(event, name) for name in event.__slots__}
        model = self.runtime.engine.loaded.name
        self.store.add_turn(
            TurnRecord(session_id=record.id, model=model, total_s=total_s, created_at=time.time(), **fields)
        )

    def _prompt(self, messages: list[Message], *, n_more: int = 0) -> Rendered:
        """The prompt's ids. Raises `ContextFullError`, with the counts, where they leave no room for an answer."""
        prompt = self.runtime.chat.render(messages, answer=True)
        n_tokens, limit = len(prompt.ids) + n_more, self.runtime.engine.limit_tokens
        if n_tokens >= limit:
            what = "context" if limit == self.runtime.engine.loaded.context_tokens else "memory budget"
            newest = self.runtime.codec.count(messages[-1].text)
            raise ContextFullError(
                f"The conversation with this message is {n_tokens:,} tokens ({newest:,} of them new); "
                f"the {what} holds {limit:,}.",
                "Shorten the message, fork from an earlier answer, or start a new session.",
            )
        return prompt

    def _expected_prefix(self, prompt: Rendered) -> int:
        """How many tokens this prompt should find in the KV: those that were settled, and what earlier turns share."""
        ledger = self.runtime.engine.ledger
        if not self._path or ledger.shared(prompt.ids) >= len(ledger):
            return 0
        stable = self._stable or self.runtime.chat.stable_prefix(self._messages())
        return max(self._confirmed, ledger.shared(stable.ids))

    def _messages(self, path: list[MessageRecord] | None = None) -> list[Message]:
        system = [Message("system", self._system)] if self._system else []
        return system + [_as_message(record) for record in (self._path if path is None else path)]

    def _turn_after(self, leaf: MessageRecord | None) -> int:
        return leaf.turn + 1 if leaf else 1

    def _member(self, message_id: int) -> MessageRecord:
        message = self.store.message(message_id)
        if self.record is None or message.session_id != self.record.id:
            raise UsageError(f"Message {message_id} belongs to another session.")
        return message

    def _existing_record(self) -> SessionRecord:
        assert self.record is not None, "a session with messages is stored"
        return self.record

    def _stored_record(self, first_text: str) -> SessionRecord:
        if self.record is None:
            title = " ".join(first_text.split())
            title = title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1] + "…"
            self.record = self.store.create_session(
                self.runtime.engine.loaded.name, title, self._system or None
            )
        return self.record


def _as_message(record: MessageRecord) -> Message:
    return Message(record.role, record.text, record.turn, record.ids, record.answer_start, record.thought)
