"""What the list of sessions holds: the titles that fit what is typed, and below them messages with those words.

Plain data and functions: knows neither the store nor widgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chatkv.tui.behind.library import StoredHit, StoredSession

_TITLES_WITH_WORDS = 20
"""So many titles stand above the messages that hold the words; who wants another title types more of it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A session to open, at a message if one is named; an empty id = a new session."""

    session: str
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that cannot be chosen."""

    text: str


Row = StoredSession | StoredHit | Heading


def fitting(sessions: Iterable[StoredSession], words: str) -> list[StoredSession]:
    """The sessions whose title or id holds all of the words, whatever their case."""
    wanted = words.casefold().split()
    if not wanted:
        return list(sessions)
    return [one for one in sessions if all(word in f"{one.title} {one.id}".casefold() for word in wanted)]


def rows(titles: Sequence[StoredSession], hits: Sequence[StoredHit], words: str) -> list[Row]:
    """All lines, in order."""
    if not words.strip():
        return list(titles)
    shown: list[Row] = [*titles[:_TITLES_WITH_WORDS]]
    if len(titles) > _TITLES_WITH_WORDS:
        shown.append(Heading(f"… {len(titles) - _TITLES_WITH_WORDS:,} more titles fit: type more"))
    listed = {one.id for one in titles}
    found = [hit for hit in hits if hit.message_id is not None or hit.session not in listed]
    return [*shown, Heading("In the conversations"), *found] if found else shown


def choice(row: Row) -> Choice | None:
    """What choosing this line means."""
    match row:
        case StoredSession(id=session):
            return Choice(session)
        case StoredHit(session=session, message_id=message_id):
            return Choice(session, message_id)
    return None


def key(row: Row) -> str:
    """A name by which a line is known again when others come before it."""
    match row:
        case StoredSession(id=session):
            return session
        case StoredHit(session=session, message_id=message_id):
            return f"{session}-{message_id}"
    return f"heading-{row.text[:1] == '…'}"
