"""How the lines of the session list read. All text from the store is shown inert."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from chatkv.tui import units
from chatkv.tui.behind.library import StoredHit, StoredSession
from chatkv.tui.behind.listing import Row
from chatkv.tui.inert import inert, one_line

_MATCH = "bold $accent"
_PREVIEW_CHARS = 1_200


def content(row: Row, current: str | None, now_s: float) -> Content:
    """Two lines for a session or a message that was found, one for a heading."""
    match row:
        case StoredSession():
            return _session(row, current, now_s)
        case StoredHit():
            return _hit(row, now_s)
    return Content.styled(row.text, "dim")


def title(text: str) -> str:
    """A session's title, on one line."""
    return one_line(text) or "Untitled"


def preview(said: Sequence[tuple[bool, str]]) -> Content:
    """Messages as plain text: whether the person said it, and what."""
    if not said:
        return Content.styled("No messages yet.", "dim")
    parts = []
    for mine, text in said:
        shown = inert(text[:_PREVIEW_CHARS]) + ("…" if len(text) > _PREVIEW_CHARS else "")
        parts.append(Content.styled(f"▌ {shown}", "$primary") if mine else Content(shown))
    return Content("\n\n").join(parts)


def _session(session: StoredSession, current: str | None, now_s: float) -> Content:
    mark = "● " if session.id == current else "  "
    amount = units.plural(session.n_messages, "message")
    details = f"  {units.when(session.updated_at, now_s)} · {amount} · {one_line(session.model)}"
    return Content.assemble(f"{mark}{title(session.title)}", "\n", (details, "dim"))


def _hit(hit: StoredHit, now_s: float) -> Content:
    # One character for one, so that the places of the matches stay.
    snippet = inert(hit.snippet.translate({ord("\n"): " ", ord("\t"): " "}))
    found = Content(f"  {snippet}")
    for start, end in hit.spans:
        found = found.stylize(_MATCH, start + 2, end + 2)
    who = "title" if hit.message_id is None else "you" if hit.mine else "answer"
    details = f"  {title(hit.title)} · {who} · {units.when(hit.created_at, now_s)}"
    return Content.assemble(found, "\n", (details, "dim"))
