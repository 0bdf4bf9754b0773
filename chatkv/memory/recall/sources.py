"""What the store holds → passages to recall. Knows nothing of how it got there."""

from __future__ import annotations

from collections.abc import Iterable

from chatkv.memory.recall.records import Passage
from chatkv.store import MessageRecord, PassageRecord


def from_messages(messages: Iterable[MessageRecord]) -> list[Passage]:
    """Passages of the messages of a branch, in its order; empty ones and answers still coming are left out."""
    return [
        Passage(message.id, message.turn, message.role, message.text, created_at=message.created_at)
        for message in messages
        if message.status != "streaming" and message.text.strip()
    ]


def from_documents(pieces: Iterable[PassageRecord]) -> list[Passage]:
    """Passages of the documents of a session."""
    return [Passage(-piece.id, 0, "document", piece.text, piece.name) for piece in pieces]
