"""One session on a store, for tests that compare what is saved after a trouble with what is without any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import troubles

from chatkv.store import SteadyStore, Store, Whole, this_process

ACTS = ("say", "grow", "end", "pin", "unpin", "summary", "undo", "document", "event", "back", "rest")
BEGINNING = ["say", "grow", "end", "pin", "summary", "document", "say", "end"]


class Talk:
    """One session in a store. Ids are read from the store when nothing runs, as a session does when led anew."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.id = store.create_session("m", "talk", "be kind").id
        store.claim(self.id, this_process())
        self.running: tuple[int, str] | None = None
        self.n = 0

    def do(self, act: str) -> None:
        self.n += 1
        store, path = self.store, self.store.path(self.store.session(self.id).leaf_id)
        if act == "say" and self.running is None:
            parent = path[-1].id if path else None
            answer = store.add_exchange(
                self.id, parent, f"question {self.n} " * 300, len(path) // 2 + 1, "m"
            )[1]
            self.running = answer.id, ""
        elif act in ("grow", "end") and self.running is not None:
            answer_id, text = self.running[0], self.running[1] + f" and {self.n}"
            status: Any = "streaming" if act == "grow" else "complete"
            ids = range(len(text))
            store.update_answer(answer_id, text=text, thought="hm", ids=ids, answer_start=1, status=status)
            self.running = (answer_id, text) if act == "grow" else None
        elif act == "event":
            store.add_event(self.id, "note", {"n": self.n})
        elif act == "document":
            store.add_document(self.id, f"doc {self.n}", "one two", ["one", "two"])
        elif path:
            self._look_back(act, path[0].id, path[-1].id, path[len(path) // 2 | 1].id)

    def _look_back(self, act: str, first: int, last: int, middle: int) -> None:
        store = self.store
        if act == "pin":
            store.pin(self.id, first)
        elif act == "unpin":
            store.unpin(self.id, first)
        elif act == "summary":
            store.add_summary(self.id, last, f"summary {self.n}", origin="model", kept=[first])
        elif act == "undo" and (summaries := store.summaries(self.id)):
            store.undo_summary(summaries[-1].id)
        elif act == "back" and self.running is None:
            store.set_leaf(self.id, middle)

    def rest(self) -> None:
        """Idle time between turns."""
        if isinstance(self.store, SteadyStore) and self.running is None:
            placed = self.store.retry().get(self.id)
            self.id = placed.session_id if placed else self.id


def plain(whole: Whole) -> dict[str, Any]:
    """A session without its times, and with ids counted from 0 in each table."""
    rank: dict[Any, Any] = {row["id"]: n for n, row in enumerate(whole.messages)}
    documents = {row["id"]: n for n, row in enumerate(whole.documents)}

    def told(row: dict[str, Any]) -> dict[str, Any]:
        kept = {k: v for k, v in row.items() if k not in ("id", "session_id") and not k.endswith("_at")}
        for name in ("parent_id", "leaf_id", "upto_id", "message_id", "user_id"):
            if name in kept:
                kept[name] = rank.get(kept[name])
        if "kept" in kept:
            kept["kept"] = [rank[i] for i in kept["kept"]]
        if "document_id" in kept:
            kept["document_id"] = documents[kept["document_id"]]
        return kept

    tables = ("messages", "turns", "events", "summaries", "pins", "documents", "passages")
    return {"session": told(whole.session)} | {
        name: [told(row) for row in getattr(whole, name)] for name in tables
    }


def on_file(file: Path, session_id: str) -> dict[str, Any]:
    with Store.open(file) as store:
        assert store._connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return plain(store.whole(session_id))


def begun(file: Path) -> Talk:
    """A conversation of two turns that lies in its file."""
    talk = Talk(SteadyStore.open(file))
    for act in BEGINNING[:-2]:
        talk.do(act)
    troubles.settle(file)
    for act in BEGINNING[-2:]:
        talk.do(act)
    return talk


def undisturbed(folder: Path, acts: list[str]) -> dict[str, Any]:
    with Store.open(folder / "plain.db") as store:
        talk = Talk(store)
        for act in acts:
            if act != "rest":
                talk.do(act)
        return plain(store.whole(talk.id))


def steady_of(talk: Talk) -> SteadyStore:
    """Its store, known to be one that goes on in memory."""
    assert isinstance(talk.store, SteadyStore)
    return talk.store
