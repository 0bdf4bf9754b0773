"""How the fake worker speaks and listens, and what it says: lines of the protocol, constants, a script."""

from __future__ import annotations

import sys

from chatkv.protocol import Command, Count, Counted, Draft, Drafted, Event, command_from_json, to_json

MODEL = "tiny-echo"
BYTES_PER_TOKEN = 23_040
BUDGET_BYTES = 64 << 20
FREE_TOKENS = 6_800
ROOM_TOKENS = 8_000
CODE = """Here is how to read a file line by line:

```python
from pathlib import Path

def lines(file: Path) -> list[str]:
    # one string a line
    return file.read_text().splitlines()
```

1. `read_text` decodes as **UTF-8**
2. `splitlines` drops the line ends

| call | cost |
|:-----|-----:|
| `read_text` | one read |
| `splitlines` | one pass |
"""


def weigh(command: Draft | Count) -> None:
    """Answer how much is being written: a word is a token here."""
    n_tokens = len(command.text.split())
    if isinstance(command, Draft):
        say(Drafted(n_tokens, FREE_TOKENS, ROOM_TOKENS))
    else:
        say(Counted(command.key, n_tokens))


def say(event: Event) -> None:
    """Write one event."""
    sys.stdout.write(to_json(event) + "\n")
    sys.stdout.flush()


def hear() -> Command | None:
    """Read one command; None at the end of stdin."""
    line = sys.stdin.readline()
    return command_from_json(line) if line else None
