"""What of one branch stands in the context: the system prompt, a summary of what went, pinned and recent turns.

Reads the store and adds to it. Knows neither model nor KV: what the KV holds is found by comparing ids.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chatkv.protocol import Marks, TurnMark
from chatkv.store import MessageRecord, SessionRecord, Store, SummaryRecord
from chatkv.tokens import Message, Rendered

_TITLE_CHARS = 60
_HEADER = "Summary of the conversation so far:\n"


@dataclass(frozen=True, slots=True)
class Round:
    """One turn of the branch: a user message and what followed it. `user_id` is its first message's id."""

    turn: int
    user_id: int
    messages: tuple[MessageRecord, ...]


class Context:
    """The branch in use, and what of it the model is to see. `record` is None until the session is stored."""

    def __init__(self, store: Store, record: SessionRecord | None, system: str) -> None:
        self.store = store
        self.record = record
        self.system = system
        self.path: list[MessageRecord] = []
        self.rounds: tuple[Round, ...] = ()
        self.pins: frozenset[int] = frozenset()
        self.keeps_recalled = False
        """Whether recalled text stays in the context with its turn (where the KV cannot let it go cheaply)."""
        self._summaries: list[SummaryRecord] = []
        self.summary: SummaryRecord | None = None
        if record is not None:
            self.pins = store.pins(record.id)
            self._summaries = store.summaries(record.id)
            self.follow(store.path(record.leaf_id))

    @property
    def leaf(self) -> MessageRecord | None:
        """The newest message of the branch."""
        return self.path[-1] if self.path else None

    def stored(self, model: str, spec: str, first_text: str, carried_from: str | None) -> SessionRecord:
        """The session's record, made with `first_text` as its title if there is none yet.

        The model that goes on with a session is from now on its model.
        """
        if self.record is None:
            title = " ".join(first_text.split())
            title = title if len(title) <= _TITLE_CHARS else title[: _TITLE_CHARS - 1] + "…"
            self.record = self.store.create_session(
                model, title, self.system or None, carried_from, spec=spec
            )
        elif (self.record.model, self.record.spec) != (model, spec):
            self.store.set_model(self.record.id, model, spec)
            self.record = replace(self.record, model=model, spec=spec)
        return self.record

    def follow(self, path: Sequence[MessageRecord]) -> None:
        """Make `path` the branch in use. The newest summary of something on it is in force."""
        self.path = list(path)
        groups = itertools.groupby(self.path, key=lambda message: message.turn)
        rounds = ((turn, tuple(messages)) for turn, messages in groups)
        self.rounds = tuple(Round(turn, messages[0].id, messages) for turn, messages in rounds)
        self._settle_summary()

    def messages(
        self,
        path: Sequence[MessageRecord] | None = None,
        *,
        summary: SummaryRecord | None = None,
        recalled_for: int | None = None,
    ) -> list[Message]:
        """What the model is to see of `path` (default: the branch), with `summary` in place of the one in force.

        `recalled_for`: the user message that what was recalled for it goes along with; others go without.
        """
        summary = summary or self.summary
        seen = [Message("system", self.system)] if self.system else []
        if summary and summary.text:
            seen.append(Message("system", _HEADER + summary.text, is_summary=True))
        gone = self.gone(summary)
        for record in self.path if path is None else path:
            if record.turn not in gone:
                with_recalled = self.keeps_recalled or record.id == recalled_for
                seen.append(_as_message(record, with_recalled=with_recalled))
        return seen

    def gone(self, summary: SummaryRecord | None = None) -> frozenset[int]:
        """Numbers of the turns that `summary` (default: the one in force) stands for."""
        summary = summary or self.summary
        if summary is None:
            return frozenset()
        spared = self.pins | set(summary.kept)
        return frozenset(
            round.turn
            for round in self.rounds
            if round.messages[-1].id <= summary.upto_id and round.user_id not in spared
        )

    def in_context(self) -> tuple[Round, ...]:
        """The turns that stand word for word in the context."""
        gone = self.gone()
        return tuple(round for round in self.rounds if round.turn not in gone)

    def marks(self) -> Marks:
        """How every turn of the branch stands."""
        gone = self.gone()
        left = "summarized" if self.summary and self.summary.text else "archived"
        others = self.store.alternatives(self.record.id) if self.record else {}
        marks = []
        for round in self.rounds:
            mark = left if round.turn in gone else "pinned" if round.user_id in self.pins else "verbatim"
            asked = others.get(round.messages[0].parent_id or 0, ())
            answered = others.get(round.user_id, ())
            marks.append(TurnMark(round.turn, round.user_id, mark, asked, answered))  # type: ignore[arg-type]
        return Marks(tuple(marks))

    def drafted(self, going: Sequence[int], text: str, *, origin: str, edited: str) -> SummaryRecord:
        """The summary that lets the turns numbered `going` go, besides those that went; not stored yet.

        It reaches to the last of them; earlier turns that stay are listed in it.
        """
        gone = self.gone() | set(going)
        reached = self.summary.upto_id if self.summary else 0
        last = max(
            round.turn for round in self.rounds if round.turn in gone or round.messages[-1].id == reached
        )
        upto = next(round for round in self.rounds if round.turn == last)
        kept = [round.user_id for round in self.rounds if round.turn < last and round.turn not in gone]
        return SummaryRecord(
            id=0,
            session_id=upto.messages[-1].session_id,
            upto_id=upto.messages[-1].id,
            kept=tuple(kept),
            text=text,
            origin=origin,
            edited=edited,
            created_at=0.0,
        )

    def adopt(self, draft: SummaryRecord) -> SummaryRecord:
        """Store a drafted summary; from now on it is in force."""
        stored = self.store.add_summary(
            draft.session_id,
            draft.upto_id,
            draft.text,
            origin=draft.origin,
            edited=draft.edited,
            kept=draft.kept,
        )
        self._summaries.append(stored)
        self._settle_summary()
        return stored

    def undo(self) -> SummaryRecord | None:
        """Let the summary before the one in force stand again; the one that was taken back, None if there is none."""
        undone = self.summary
        if undone is not None:
            self.store.undo_summary(undone.id)
            self._summaries.remove(undone)
            self._settle_summary()
        return undone

    def pin(self, round: Round, *, pinned: bool) -> None:
        """Keep a turn verbatim from now on, or no longer."""
        session_id = round.messages[0].session_id
        if pinned:
            self.store.pin(session_id, round.user_id)
        else:
            self.store.unpin(session_id, round.user_id)
        self.pins = self.store.pins(session_id)

    def _settle_summary(self) -> None:
        members = {message.id for message in self.path}
        here = (summary for summary in self._summaries if summary.upto_id in members)
        self.summary = max(here, key=lambda summary: (summary.upto_id, summary.id), default=None)


def turn_sizes(prompt: Rendered) -> dict[int, int]:
    """Tokens of each turn in a rendering; 0 stands for what belongs to none."""
    sizes: dict[int, int] = {}
    for segment in prompt.segments:
        sizes[segment.turn] = sizes.get(segment.turn, 0) + segment.n_tokens
    return sizes


def _as_message(record: MessageRecord, *, with_recalled: bool) -> Message:
    return Message(
        record.role,
        record.text,
        record.turn,
        record.ids,
        record.answer_start,
        record.thought,
        recalled=record.recalled if with_recalled else "",
    )
