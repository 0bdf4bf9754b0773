"""What the archive of a conversation gives for a message, and the documents that are kept in it.

The archive is every turn of the branch that is not in the context, and the passages of documents.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Generator, Sequence

from chatkv.errors import StoreError
from chatkv.memory.passages import cut_passages
from chatkv.memory.recall import Archive, Found, Passage, from_documents, from_messages
from chatkv.protocol import Event, Kept, Recalled, RecalledRound
from chatkv.runtime import Runtime
from chatkv.session.context import Context
from chatkv.store import MessageRecord

_PASSAGE_TOKENS = 160
_SHORTEST_PASSAGE = 24
_NAME_CHARS = 40
_READ_AT_ONCE = 100
"""Messages and passages read in one moment of idle time: some hundredths of a second."""
_NOTHING = Found("", 0, ())


class Recollection:
    """Recall for one context. What was looked up by hand goes along with the next message."""

    def __init__(self, runtime: Runtime, context: Context) -> None:
        self.runtime = runtime
        self.context = context
        self._archive: Archive | None = None
        self._words: str | None = None
        self._documents: Sequence[Passage] | None = None
        self._read_to: int | None = None

    def recall_for(self, user: MessageRecord, room: int) -> Generator[Event, None, MessageRecord]:
        """Look up message `user` and note what is found, at most `room` tokens; the message with it."""
        started = time.perf_counter()
        words, self._words = self._words, None
        if words is None and not self.runtime.memory.recall:
            return user
        found = self.found(user.text if words is None else words, room, by_hand=words is not None)
        if not found.text:
            return user
        self.context.store.set_recalled(user.id, found.text)
        yield _event(user.turn, found, time.perf_counter() - started, by_hand=words is not None)
        return dataclasses.replace(user, recalled=found.text)

    def foreseen(self, text: str, room: int) -> str:
        """What would be recalled for a message `text`; nothing is noted."""
        if not self.may_find:
            return ""
        by_hand = self._words is not None
        return self.found(text if self._words is None else self._words, room, by_hand=by_hand).text

    @property
    def may_find(self) -> bool:
        """Whether anything can be recalled for the next message."""
        if self._words is None and not self.runtime.memory.recall:
            return False
        return bool(self.context.gone() or self._kept())

    @property
    def has_to_read(self) -> bool:
        """Whether there is something that a search would have to read first."""
        leaf = self.context.leaf
        try:
            return leaf is not None and leaf.id != self._read_to and self.may_find
        except StoreError:  # whatever it is, the next message will tell
            return False

    def read_some(self) -> None:
        """Read a little of it ahead, so that no message of a long conversation waits for it."""
        leaf = self.context.leaf
        self._read_to = leaf.id if leaf else None  # if it fails, the next message will tell
        if self._opened().learn(self._all(), _READ_AT_ONCE) == _READ_AT_ONCE:
            self._read_to = None

    def look_up(self, words: str, room: int) -> Recalled:
        """Look `words` up; what is found, as far as there is room for it then, goes along with the next message."""
        started = time.perf_counter()
        found = self.found(words, room, by_hand=True)
        self._words = words if found.text else None
        turn = self.context.leaf.turn + 1 if self.context.leaf else 1
        return _event(turn, found, time.perf_counter() - started, by_hand=True)

    def keep(self, session_id: str, text: str, name: str, recall_tokens: int) -> Kept:
        """Keep `text` as a document of the session, in passages of which some fit into `recall_tokens`."""
        count = self.runtime.codec.count
        size = max(_SHORTEST_PASSAGE, min(_PASSAGE_TOKENS, recall_tokens // 3))
        passages = cut_passages(text, count, size_tokens=size)
        name = name or " ".join(text[: 2 * _NAME_CHARS].split())[:_NAME_CHARS]
        record = self.context.store.add_document(session_id, name, text, passages)
        self._documents = self._read_to = None
        return Kept(record.id, name, count(text), len(passages))

    def found(self, question: str, room: int, *, by_hand: bool = False) -> Found:
        """What the archive has on `question`, at most `room` tokens; less where nothing is asked, unless `by_hand`."""
        if room <= 0 or not (self.context.gone() or self._kept()):
            return _NOTHING
        archive = self._opened()
        archive.update(self._all())
        here = {message.id for round in self.context.in_context() for message in round.messages}
        count = self.runtime.codec.count
        return archive.search(question, exclude=here, budget=room, count=count, by_hand=by_hand)

    def _opened(self) -> Archive:
        if self._archive is None:
            self._archive = Archive(self.runtime.meaning())
        return self._archive

    def _all(self) -> list[Passage]:
        return [*self._kept(), *from_messages(self.context.path)]

    def _kept(self) -> Sequence[Passage]:
        if self._documents is None:
            record = self.context.record
            self._documents = from_documents(self.context.store.passages(record.id) if record else ())
        return self._documents


def _event(turn: int, found: Found, seconds: float, *, by_hand: bool) -> Recalled:
    rounds = (RecalledRound(s.first_turn, s.last_turn, s.text, s.document) for s in found.rounds)
    return Recalled(turn, found.tokens, round(seconds, 4), tuple(rounds), by_hand)
