"""A worker without a model for `screen_cost.py`: opens stored sessions, and streams Markdown at a fixed rate.

`python scripts/screen_worker.py DATABASE PROGRESS`. A message `go N RATE` is answered by N tokens, RATE of them a
second, with the `kv` events of the real worker between them. How many have gone out stands in the file PROGRESS.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

from chatkv.protocol import (
    Accepted,
    Close,
    Closed,
    Command,
    Delta,
    Event,
    Kv,
    KvSegment,
    Open,
    Opened,
    Prefill,
    Ready,
    Send,
    Turn,
    command_from_json,
    to_json,
)
from chatkv.store import Store

MODEL = "scripted"
_KV_EVERY_S = 0.25
_BYTES_PER_TOKEN = 23_040
_TURN_TOKENS = (12, 90)
_TEXT = """## Reading a file, part {n}

A file is read **line by line** so that memory stays flat, however long it is; `read_text` would hold all of it at once.
The loop below does that, and it closes the file when it is done, even where an error comes in the middle of it.

```python
from pathlib import Path

def lines(file: Path) -> list[str]:
    # one string a line
    with file.open(encoding="utf-8") as opened:
        return [line.rstrip("\\n") for line in opened]
```

1. `open` decodes as **UTF-8**, whatever the locale says.
2. `rstrip` drops the line ends; see [the manual](https://example.org/io) for the others.

| call | cost | when |
|:-----|-----:|------|
| `read_text` | one read | the file is small |
| `open` | a read a block | always |

"""


def pieces(n_tokens: int) -> list[str]:
    """So many pieces of Markdown, each about a token."""
    found: list[str] = []
    while len(found) < n_tokens:
        found += re.findall(r"\s*[^\s\w]|\s*\w{1,7}|\s+", _TEXT.format(n=len(found)))
    return found[:n_tokens]


def text(n_tokens: int) -> str:
    """An answer of so many tokens."""
    return "".join(pieces(n_tokens))


class Worker:
    """One session at a time, never saved."""

    def __init__(self, database: Path, progress: Path) -> None:
        self._store = Store.open(database)
        self._progress = os.open(progress, os.O_RDWR | os.O_CREAT)
        self._n_turns = self._next_id = 0

    def obey(self, command: Command) -> None:
        """Carry one command out."""
        if isinstance(command, Open):
            session = self._store.session(command.session)
            self._n_turns = session.n_messages // 2
            self._next_id = 1 + (session.leaf_id or 0)
            say(Opened(session.id, session.title, MODEL, session.leaf_id))
            say(self._kv(0))
        elif isinstance(command, Send):
            _, n_tokens, rate = command.text.split()
            self._answer(int(n_tokens), float(rate), command.text)

    def _answer(self, n_tokens: int, rate: float, prompt: str) -> None:
        user, answer, turn = self._next_id, self._next_id + 1, self._n_turns + 1
        self._next_id += 2
        say(Accepted(turn, user, answer, prompt))
        say(Prefill(0, 12))
        say(Prefill(12, 12, reused=100))
        began = kv_at = time.monotonic()
        for n, piece in enumerate(pieces(n_tokens), start=1):
            time.sleep(max(0.0, began + n / rate - time.monotonic()))
            say(Delta(answer, piece, n))
            os.pwrite(self._progress, b"%9d" % n, 0)
            if time.monotonic() - kv_at > _KV_EVERY_S:
                kv_at = time.monotonic()
                say(self._kv(n))
        self._n_turns += 1
        kv = self._kv(0)
        say(kv)
        sizes = (kv.used_bytes, kv.reserved_bytes, kv.budget_bytes, kv.tokens)
        say(Turn(turn, user, answer, "stop", 100, 12, 0, n_tokens, 0, 0.2, 1 / rate, *sizes))

    def _kv(self, n_more: int) -> Kv:
        segments = [KvSegment("system", 0, 30)]
        for turn in range(1, self._n_turns + 1):
            for kind, tokens in zip(("user", "answer"), _TURN_TOKENS, strict=True):
                segments += [KvSegment("wrapper", turn, 4), KvSegment(kind, turn, tokens, "E1")]
        if n_more:
            segments.append(KvSegment("answer", self._n_turns + 1, n_more))
        tokens = sum(segment.tokens for segment in segments)
        used = tokens * _BYTES_PER_TOKEN
        return Kv(
            tokens,
            used,
            used + (8 << 20),
            4 << 30,
            131_072,
            tuple(segments),
            131_072,
            90_000,
            118_000,
            52_000,
        )


def say(event: Event) -> None:
    """Write one event."""
    sys.stdout.write(to_json(event) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer until `close` or the end of stdin."""
    worker = Worker(Path(sys.argv[1]), Path(sys.argv[2]))
    say(Ready(MODEL, "cpu", "bfloat16", 131_072, _BYTES_PER_TOKEN, 0.1))
    for line in sys.stdin:
        command = command_from_json(line)
        if isinstance(command, Close):
            break
        worker.obey(command)
    say(Closed())


if __name__ == "__main__":
    main()
