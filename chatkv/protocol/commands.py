"""What one can ask of a session: one frozen dataclass a command.

Says what each means; how it is carried out is the worker's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Overlong = Literal["refuse", "head"]
"""What to do with a message that cannot fit: say so, or send as much of its beginning as fits."""


@dataclass(frozen=True, slots=True)
class Open:
    """Open the session with this id (or unique prefix of one, or `last`). Answered by `opened` or `error`."""

    session: str = "last"


@dataclass(frozen=True, slots=True)
class New:
    """Start a new session. It is stored when its first message is. `system` None = the configured prompt.

    `carry`: its system part carries a summary of the session that was open, and the two are linked.
    """

    system: str | None = None
    carry: bool = False


@dataclass(frozen=True, slots=True)
class Send:
    """Say `text` in the open session (a new one if none is open). Waits its turn if an answer is running."""

    text: str
    max_new_tokens: int | None = None
    overlong: Overlong = "refuse"


@dataclass(frozen=True, slots=True)
class Draft:
    """What is being written, as it would be sent now; empty when nothing is. Only the newest one counts.

    Idle time prefills it; nothing of it stays unless it is sent. Never waits in line and interrupts nothing. Answered
    by `drafted`.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Count:
    """How many tokens `text` is, by itself. Answered by `counted` with the same `key`; does not wait for an answer
    that is running."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the running answer now. Acts between two tokens or two prefill chunks; never waits in line."""


@dataclass(frozen=True, slots=True)
class Regenerate:
    """Answer the last user message again, or user message `message_id`, as a new branch beside the old answer.

    What followed an earlier message stays on the branch of the old answer.
    """

    max_new_tokens: int | None = None
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class Continue:
    """Extend the last answer where it was cut, on the same KV and in the same message."""

    max_new_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Say `text` in place of user message `message_id`: a branch beside it. Older turns stay cached."""

    message_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Fork:
    """Go on from message `message_id`: it becomes the end of the conversation; what followed it is kept."""

    message_id: int


@dataclass(frozen=True, slots=True)
class Switch:
    """Go to the branch of message `message_id`: to the newest message below it. What is left stays a branch."""

    message_id: int


@dataclass(frozen=True, slots=True)
class Compact:
    """Summarize and archive old turns now. `instructions`: what the summary should pay attention to."""

    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """Show the summary in force (`summarized`). `text` replaces it; `undo` takes the newest change back."""

    text: str | None = None
    undo: bool = False


@dataclass(frozen=True, slots=True)
class Pin:
    """Keep turn `turn` of this branch verbatim, whatever is compacted."""

    turn: int


@dataclass(frozen=True, slots=True)
class Unpin:
    """Let turn `turn` be compacted again."""

    turn: int


@dataclass(frozen=True, slots=True)
class Recall:
    """Look `words` up in the archive of this conversation. What is found goes along with the next message."""

    words: str


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep `text` as a document of this conversation: never in the context whole, recalled in passages."""

    text: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Set:
    """Change setting `key` (dotted, from `config.toml`) for this process, e.g. `sampling.temperature`."""

    key: str
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class Stats:
    """Ask for a `kv` event now."""


@dataclass(frozen=True, slots=True)
class Close:
    """End: the running answer is stopped and saved, then the process leaves."""


Command = (
    Open
    | New
    | Send
    | Draft
    | Count
    | Stop
    | Regenerate
    | Continue
    | Edit
    | Fork
    | Switch
    | Compact
    | Summary
    | Pin
    | Unpin
    | Recall
    | Keep
    | Set
    | Stats
    | Close
)
