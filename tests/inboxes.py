"""An inbox under test: lines that are read into it, and what can be taken out at once."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable

from chatkv.protocol import Command, to_json
from chatkv.worker import Inbox

SOON_S = 10.0


def read(inbox: Inbox, *items: Command | str, stop_at_end: bool = False) -> None:
    lines = [item if isinstance(item, str) else to_json(item) for item in items]
    inbox.read(io.StringIO("\n".join(lines)), stop_at_end=stop_at_end)


def take(inbox: Inbox, n: int) -> list[object]:
    """The next `n`, which must be there already: a test that waits for what never comes cannot fail."""
    taken: list[object] = []
    for _ in range(n):
        assert not inbox.is_empty(), f"only {taken}"
        taken.append(inbox.next()[0])
    return taken


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
