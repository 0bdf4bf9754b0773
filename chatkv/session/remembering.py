"""What a person may ask of a conversation's memory: pin a turn, read, change or take back the summary.

Each method is a generator of protocol events. The KV follows when idle, or with the next message.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from chatkv.errors import UsageError
from chatkv.protocol import Compaction, Event, Notice, Summarized
from chatkv.session.context import Context, Round
from chatkv.session.upkeep import Upkeep

_PINNED_SHARE = 3
_TOLD_TOKENS = 16
"""Fewer tokens read again are closers and headers, which every turn reads."""


class Remembering:
    """Memory of one context, by hand."""

    def __init__(self, context: Context, upkeep: Upkeep) -> None:
        self._context = context
        self._upkeep = upkeep

    def pin(self, turn: int, *, pinned: bool) -> Iterator[Event]:
        """Keep turn `turn` word for word whatever is compacted, or no longer.

        Raises `UsageError` if there is no such turn, or if the pinned turns would leave too little room.
        """
        round = self._round(turn)
        if pinned:
            self._require_room_for(round)
        self._context.pin(round, pinned=pinned)
        yield from self._changed()
        yield self._upkeep.runtime.kv_event()

    def summarized(self) -> Summarized:
        """The summary in force."""
        record = self._context.summary
        gone = tuple(sorted(self._context.gone()))
        if record is None or not record.text:
            return Summarized("", gone)
        n_tokens = self._upkeep.runtime.codec.count(record.text)
        return Summarized(record.text, gone, record.origin, bool(record.edited), n_tokens, record.id)

    def rewrite(self, text: str) -> Iterator[Event]:
        """Put `text` in place of the summary. Lines that the person wrote stay in every later summary.

        Raises `UsageError` if there is no summary, or if the text is longer than a summary may be.
        """
        before = self._context.summary
        if before is None:
            raise UsageError("There is no summary yet.", "`/compact` makes one.")
        text, most = text.strip(), self._upkeep.planner.room.summary
        n_tokens = self._upkeep.runtime.codec.count(text)
        if n_tokens > most:
            raise UsageError(
                f"The summary would be {n_tokens:,} tokens; it may be {most:,}.",
                "Shorten it, or raise `memory.summary_tokens` or the budget.",
            )
        known, mine = set(before.text.splitlines()), set(before.edited.splitlines())
        edited = "\n".join(line for line in text.splitlines() if line not in known or line in mine)
        self._context.adopt(dataclasses.replace(before, text=text, origin="edited", edited=edited))
        yield from self._changed()
        yield self.summarized()

    def undo(self) -> Iterator[Event]:
        """Take the newest summary, or change of it, back: the one before stands again, or the turns themselves.

        Raises `UsageError` if there is none.
        """
        gone = self._context.gone()
        undone = self._context.undo()
        if undone is None:
            raise UsageError("There is no summary to take back.")
        back = tuple(sorted(gone - self._context.gone()))
        yield Compaction("undone", "asked", back, summary_id=undone.id)
        yield from self._changed()
        yield self.summarized()

    def _changed(self) -> Iterator[Event]:
        """The context is another: how turns stand now, and what the KV must read again for it."""
        self._upkeep.moved()
        yield self._context.marks()
        stable = self._upkeep.planner.stable.ids
        n_again = len(stable) - self._upkeep.runtime.prefiller.reachable(stable)
        if n_again > _TOLD_TOKENS:
            yield Notice(f"{n_again:,} tokens are read again for it, now or with your next message.")

    def _round(self, turn: int) -> Round:
        found = next((round for round in self._context.rounds if round.turn == turn), None)
        if found is None:
            last = self._context.rounds[-1].turn if self._context.rounds else 0
            raise UsageError(f"There is no turn {turn} in this conversation.", f"Its last turn is {last}.")
        return found

    def _require_room_for(self, round: Round) -> None:
        count, room = self._upkeep.runtime.codec.count, self._upkeep.planner.room
        wanted = [r for r in self._context.rounds if r.user_id in self._context.pins or r is round]
        n_tokens = sum(count(message.text) for r in wanted for message in r.messages)
        if n_tokens > room.ceiling // _PINNED_SHARE:
            raise UsageError(
                f"The pinned turns would take {n_tokens:,} tokens; they may take {room.ceiling // _PINNED_SHARE:,}.",
                "Unpin another turn, or raise the budget.",
            )
