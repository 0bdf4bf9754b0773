"""Stored messages as the turns that the screen shows, and stored figures as its table's lines. Plain functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chatkv.tui.memory.gauges import TurnRow
from chatkv.tui.talk.exchange import Exchange, State
from chatkv.tui.talk.telling import stored_recollection

if TYPE_CHECKING:
    from chatkv.store import MessageRecord, TurnRecord


def pair(messages: Sequence[MessageRecord], *, live: bool = False) -> tuple[Exchange, ...]:
    """Messages of one branch as turns. A question whose answer never began counts as stopped.

    `live`: the process that writes it is at work, so that an answer which has not ended is still coming.
    """
    turns: list[Exchange] = []
    for message in messages:
        if message.role == "user":
            turns.append(_asked(message))
            continue
        asked = turns.pop() if turns and turns[-1].answer_id is None else Exchange(0, "")
        said = replace(asked, answer=message.text, thought=message.thought, state=_state(message, live=live))
        turns.append(replace(said, answer_id=message.id))
    return tuple(turns)


def paired_row(turn: TurnRecord) -> TurnRow:
    """What a turn cost."""
    return TurnRow(
        turn.turn,
        turn.reused,
        turn.prefilled_early,
        turn.prefilled,
        turn.decoded,
        turn.ttft_s,
        turn.tpot_s,
        turn.kv_tokens,
        recalled=turn.recalled,
    )


def _asked(message: MessageRecord) -> Exchange:
    found = stored_recollection(message.recalled)
    return Exchange(0, message.text, state="stopped", user_id=message.id, turn=message.turn, recalled=found)


def _state(message: MessageRecord, *, live: bool) -> State:
    if message.status != "streaming":
        return message.status
    return "streaming" if live else "partial"
