"""What this process knows of the sessions it has open, for when their file cannot be read any more.

Learns from what the store's methods are given and give back. Knows neither SQLite nor why a file fails.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from chatkv.store.records import MessageRecord, SessionRecord, SummaryRecord
from chatkv.store.whole import Whole

_ANSWER_FIELDS = ("text", "thought", "ids", "answer_start", "status")


class Known:
    """Sessions, and of them the messages, summaries and pins that passed by. Documents and turns are not kept."""

    def __init__(self) -> None:
        self.sessions: dict[str, SessionRecord] = {}
        self._messages: dict[int, MessageRecord] = {}
        self._summaries: dict[int, SummaryRecord] = {}
        self._pins: dict[str, frozenset[int]] = {}

    def learn(self, method: str, given: Mapping[str, Any], result: object) -> None:
        """Take in what `method` was called with, by parameter name, and what it gave back."""
        for record in result if isinstance(result, list | tuple) else (result,):
            self._learn_record(record)
        match method:
            case "add_message" | "add_exchange":
                newest = result[-1] if isinstance(result, tuple) else result
                assert isinstance(newest, MessageRecord)
                self._lead(newest.session_id, newest.id)
            case "update_answer":
                fields = {name: given[name] for name in _ANSWER_FIELDS}
                self._change(given["message_id"], **{**fields, "ids": tuple(given["ids"])})
            case "set_recalled":
                self._change(given["message_id"], recalled=given["text"])
            case "set_leaf":
                self._lead(given["session_id"], given["message_id"])
            case "undo_summary":
                self._summaries.pop(given["summary_id"], None)
            case "pins":
                assert isinstance(result, frozenset)
                self._pins[given["session_id"]] = result
            case "pin":
                self._pins[given["session_id"]] = self._pins_of(given["session_id"]) | {given["message_id"]}
            case "unpin":
                self._pins[given["session_id"]] = self._pins_of(given["session_id"]) - {given["message_id"]}
            case "release":
                self.forget(given["session_id"])

    def forget(self, session_id: str) -> None:
        """The session is not open here any more."""
        self.sessions.pop(session_id, None)
        self._pins.pop(session_id, None)
        self._messages = {i: m for i, m in self._messages.items() if m.session_id != session_id}
        self._summaries = {i: s for i, s in self._summaries.items() if s.session_id != session_id}

    def agrees(self, whole: Whole) -> bool:
        """Whether what was read of a session holds every message that is known of it, word for word."""
        read = {row["id"]: row for row in whole.messages}
        return all(
            message.id in read and read[message.id]["text"] == message.text
            for message in self._of(whole.session["id"])
        )

    def whole(self, session_id: str) -> Whole | None:
        """The session as far as it is known; None if nothing is."""
        session = self.sessions.get(session_id)
        if session is None:
            return None
        messages: dict[int, MessageRecord] = {}
        for message in self._of(session_id):  # parents first: a message whose parent is unknown has no place
            if message.parent_id is None or message.parent_id in messages:
                messages[message.id] = message
        row = {item.name: getattr(session, item.name) for item in dataclasses.fields(session)}
        del row["n_messages"]
        row["leaf_id"] = session.leaf_id if session.leaf_id in messages else max(messages, default=None)
        summaries = (s for s in self._summaries.values() if s.upto_id in messages)
        pins = [i for i in sorted(self._pins_of(session_id)) if i in messages]
        return Whole(
            row,
            messages=[_row(message) for message in messages.values()],
            summaries=[{**_row(s), "kept": list(s.kept), "undone": 0} for s in summaries],
            pins=[
                {"session_id": session_id, "message_id": i, "created_at": session.updated_at} for i in pins
            ],
        )

    def last_ids(self) -> dict[str, int]:
        """By table, the greatest id that is known to be taken."""
        return {"messages": max(self._messages, default=0), "summaries": max(self._summaries, default=0)}

    def _learn_record(self, record: object) -> None:
        if isinstance(record, SessionRecord):
            self.sessions[record.id] = record
        elif isinstance(record, MessageRecord):
            self._messages[record.id] = record
        elif isinstance(record, SummaryRecord):
            self._summaries[record.id] = record

    def _change(self, message_id: int, **fields: Any) -> None:
        if message_id in self._messages:
            self._messages[message_id] = dataclasses.replace(self._messages[message_id], **fields)

    def _lead(self, session_id: str, leaf_id: int | None) -> None:
        if session_id in self.sessions:
            self.sessions[session_id] = dataclasses.replace(self.sessions[session_id], leaf_id=leaf_id)

    def _pins_of(self, session_id: str) -> frozenset[int]:
        return self._pins.get(session_id, frozenset())

    def _of(self, session_id: str) -> Iterable[MessageRecord]:
        return (m for _, m in sorted(self._messages.items()) if m.session_id == session_id)


def _row(record: MessageRecord | SummaryRecord) -> dict[str, Any]:
    return {item.name: getattr(record, item.name) for item in dataclasses.fields(record)}
