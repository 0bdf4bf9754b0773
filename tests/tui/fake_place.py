"""Where the fake worker is: its session and branch, whether it may write there, and what comes back from disk."""

from __future__ import annotations

from pathlib import Path

from chatkv.protocol import Error, Opened, Restored, Saving
from chatkv.store import Store, this_process
from tui.fake_lines import say


class FakePlace:
    """One session at a time, claimed in the store as the real worker does it."""

    def __init__(self, database: Path) -> None:
        self.store = Store.open(database)
        self.session: str | None = None
        self.leaf: int | None = None
        self.writer = 0
        """Process that holds the session, so that nothing may be written."""

    def enter(self, wanted: str) -> Opened:
        """Open a stored session, to read only while another living process has it."""
        record = self.store.resolve(wanted)
        self.leave()
        holder = self.store.holder(record.id)
        self.writer = int(holder.partition(":")[0]) if holder else 0
        if not self.writer:
            self.store.claim(record.id, this_process())
            self.store.recover(record.id)
        self.session, self.leaf = record.id, record.leaf_id
        return self.opened()

    def leave(self) -> None:
        """Let go of the session."""
        if self.session is not None and not self.writer:
            self.store.release(self.session, this_process())
        self.session, self.leaf, self.writer = None, None, 0

    def opened(self) -> Opened:
        """What is open."""
        assert self.session is not None
        record = self.store.session(self.session)
        return Opened(record.id, record.title, record.model, self.leaf, self.writer)

    def turn_to(self, leaf: int) -> Opened:
        """Another branch is the one in use."""
        assert self.session is not None
        self.store.set_leaf(self.session, leaf)
        self.leaf = leaf
        return self.opened()

    def refuses(self, command: str, text: str = "") -> bool:
        """Say no where another process writes."""
        if self.writer:
            say(Error(f"Process {self.writer} writes in this session.", "", command, text))
        return bool(self.writer)


def told(text: str) -> None:
    """Prompts about the disk: `restore`, `restoring`, `stale`, `unsaved`, `saved`."""
    match text:
        case "restore":
            say(Restored("done", 4096, 4200, 94 << 20, 0.31))
        case "restoring":
            say(Restored("reading", 1024, 4096, 24 << 20, 0.6))
        case "stale":
            say(Restored("refused", 0, 4096, reason="the model's files are not those it was made with"))
        case "unsaved":
            say(Saving(ok=False, reason="the disk is full"))
        case "saved":
            say(Saving(ok=True))
