"""An answer while it grows: sampled ids in, text events out, saved to the store at least once a second."""

from __future__ import annotations

import time
from collections.abc import Sequence

from chatkv.protocol import Delta, Event, Finish, Thought
from chatkv.runtime import Runtime
from chatkv.store import MessageRecord, Status, Store

FLUSH_EVERY_S = 0.5
_STATUS: dict[Finish, Status] = {
    "stop": "complete",
    "length": "length",
    "context": "length",
    "cancelled": "stopped",
    "error": "error",
}


class GrowingAnswer:
    """Text, thought and ids of one assistant message, from its first sampled token to its last save."""

    def __init__(self, runtime: Runtime, store: Store, message: MessageRecord) -> None:
        self.message = message
        self._runtime = runtime
        self._store = store
        self._stream = runtime.chat.stream(runtime.stop)
        self._ids: list[int] = []
        self._text: list[str] = []
        self._thought: list[str] = []
        self._saved_at = time.monotonic()
        for token in message.ids:
            self.take(token)

    @property
    def stopped(self) -> bool:
        """Whether a stop string came."""
        return self._stream.stopped

    @property
    def text(self) -> str:
        """The visible answer so far."""
        return "".join(self._text)

    def take(self, token: int) -> list[Event]:
        """One more sampled id; the events that it makes visible."""
        self._ids.append(token)
        return self._shown(self._stream.feed(token))

    def save_if_due(self) -> None:
        """Write what there is, if the last write is more than half a second old."""
        now = time.monotonic()
        if now - self._saved_at >= FLUSH_EVERY_S:
            self._saved_at = now
            self._save("streaming")

    def finish(self, finish: Finish) -> list[Event]:
        """Let go of held-back text, write the final state; the events of the last text."""
        events = self._shown(self._stream.finish())
        self._save(_STATUS[finish])
        return events

    def _save(self, status: Status) -> None:
        self._store.update_answer(
            self.message.id,
            text=self.text,
            thought="".join(self._thought),
            ids=self._kept_ids(),
            answer_start=self._stream.answer_start,
            status=status,
        )

    def _kept_ids(self) -> Sequence[int]:
        """The sampled ids; of one cut by a stop string, only what stands before it."""
        return self._stream.kept_ids if self._stream.stopped else tuple(self._ids)

    def _shown(self, pieces: Sequence[tuple[str, str]]) -> list[Event]:
        events: list[Event] = []
        decoded = len(self._ids) - len(self.message.ids)
        for channel, text in pieces:
            if channel == "thought":
                self._thought.append(text)
                events.append(Thought(self.message.id, text, decoded))
            else:
                self._text.append(text)
                events.append(Delta(self.message.id, text, decoded))
        return events
