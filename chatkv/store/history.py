"""What happened: every turn's metrics, and events. Only ever added to; knows nothing of what they mean."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from chatkv.store.database import DatabaseFile, insert
from chatkv.store.records import EventRecord, TurnRecord
from chatkv.store.sessions import require_session
from chatkv.store.values import decode_row, encode

_TURN_COLUMNS = tuple(item.name for item in dataclasses.fields(TurnRecord))


class History(DatabaseFile):
    """The part of the store that keeps turns and events."""

    def add_turn(self, turn: TurnRecord) -> None:
        """Keep what a turn cost. Raises `UsageError` if its session does not exist."""
        with self._writing("save a turn") as connection:
            require_session(connection, turn.session_id)
            insert(connection, "turns", {name: getattr(turn, name) for name in _TURN_COLUMNS})

    def turns(self, session_id: str) -> list[TurnRecord]:
        """The session's turns on all branches, in the order they ended."""
        columns = ", ".join(_TURN_COLUMNS)
        with self._reading("read turns") as connection:
            rows = connection.execute(
                f"SELECT {columns} FROM turns WHERE session_id = ? ORDER BY id", (encode(session_id),)
            )
            return [TurnRecord(**decode_row(row)) for row in rows]

    def add_event(self, session_id: str | None, kind: str, data: dict[str, Any]) -> EventRecord:
        """Note an event; `data` must be JSON. Raises `UsageError` if its session does not exist."""
        text = json.dumps(data, ensure_ascii=False)
        now = self.clock()
        values = {"session_id": session_id, "kind": kind, "data": text, "created_at": now}
        with self._writing("save an event") as connection:
            if session_id is not None:
                require_session(connection, session_id)
            event_id = insert(connection, "events", values)
        return EventRecord(event_id, session_id, kind, json.loads(text), now)

    def events(self, session_id: str | None) -> list[EventRecord]:
        """The session's events (None: those outside any), in the order they happened."""
        with self._reading("read events") as connection:
            rows = connection.execute(
                "SELECT * FROM events WHERE session_id IS ? ORDER BY id", (encode(session_id),)
            )
            records = [EventRecord(**decode_row(row)) for row in rows]
        return [dataclasses.replace(record, data=json.loads(str(record.data))) for record in records]
