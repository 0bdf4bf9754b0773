"""The one protocol: commands in, events out, as frozen dataclasses and as JSON lines.

Every line is an object whose `type` names the command or event in snake case. Unknown fields and types are
errors in commands (a typo must not pass) and are the reader's to ignore in events.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import typing
from dataclasses import dataclass
from typing import Any, Literal

from chatkv.errors import UsageError

Finish = Literal["stop", "length", "cancelled", "error", "context"]
"""Why a turn ended: end token or stop string; token limit; stopped by the user; failure; context or budget full."""

Level = Literal["info", "warning"]

# ── commands ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Open:
    """Open the session with this id (or unique prefix of one, or `last`). Answered by `opened` or `error`."""

    session: str = "last"


@dataclass(frozen=True, slots=True)
class New:
    """Start a new session. It is stored when its first message is. `system` None = the configured prompt."""

    system: str | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """Say `text` in the open session (a new one if none is open). Waits its turn if an answer is running."""

    text: str
    max_new_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the running answer now. Acts between two tokens or two prefill chunks; never waits in line."""


@dataclass(frozen=True, slots=True)
class Regenerate:
    """Answer the last user message again, as a new branch beside the old answer."""

    max_new_tokens: int | None = None


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
    """Go on from message `message_id`: it becomes the end of the conversation; what followed stays a branch."""

    message_id: int


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


Command = Open | New | Send | Stop | Regenerate | Continue | Edit | Fork | Set | Stats | Close

# ── events ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Loading:
    """Progress of getting the model ready. `total` 0 = unknown; `unit` is `B`, `files`, `tensors` or empty."""

    stage: str
    done: int = 0
    total: int = 0
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """The model is loaded and answers from now on."""

    model: str
    device: str
    dtype: str
    context_tokens: int
    bytes_per_token: int
    load_s: float


@dataclass(frozen=True, slots=True)
class Opened:
    """The session that further commands act on. `leaf_id` is its newest message, None when it has none."""

    session: str
    title: str
    model: str
    leaf_id: int | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A turn began: the user's message is committed to the database and an empty answer stands beside it."""

    turn: int
    user_id: int
    answer_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Prefill:
    """`done` of `total` tokens that this turn must prefill are in the KV; `early` = idle work, not a turn."""

    done: int
    total: int
    early: bool = False


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of answer `message_id`."""

    message_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """More text that the model thinks before answer `message_id`."""

    message_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn ended. Tokens of its prompt = reused + prefilled_early + prefilled, counted where the model ran.

    `ttft_s` is None when no token came; `tpot_s` is None below two tokens.
    """

    turn: int
    user_id: int
    message_id: int
    finish: Finish
    reused: int
    prefilled: int
    prefilled_early: int
    decoded: int
    recalled: int
    ttft_s: float | None
    tpot_s: float | None
    kv_used_bytes: int
    kv_reserved_bytes: int
    kv_budget_bytes: int
    kv_tokens: int


@dataclass(frozen=True, slots=True)
class KvSegment:
    """A run of ledger tokens with one owner. `kind`: system, user, thought, answer or wrapper."""

    kind: str
    turn: int
    tokens: int
    tier: str = "E0"


@dataclass(frozen=True, slots=True)
class Kv:
    """The state of the KV cache, read from the tensors themselves."""

    tokens: int
    used_bytes: int
    reserved_bytes: int
    budget_bytes: int
    context_tokens: int
    segments: tuple[KvSegment, ...] = ()


@dataclass(frozen=True, slots=True)
class PrefixBreak:
    """The KV did not hold the expected prefix: `tokens` must be prefilled again from `position` on."""

    position: int
    expected: str
    found: str
    tokens: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know; nothing failed."""

    text: str
    level: Level = "info"


@dataclass(frozen=True, slots=True)
class Error:
    """A command failed. The conversation stands; the next command works. `command` names what failed."""

    message: str
    hint: str = ""
    command: str = ""
    text: str = ""
    """Text the person typed that was not taken, to give back to them."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The last event."""


Event = (
    Loading
    | Ready
    | Opened
    | Accepted
    | Prefill
    | Delta
    | Thought
    | Turn
    | Kv
    | PrefixBreak
    | Notice
    | Error
    | Closed
)

# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────────────


def type_name(kind: type) -> str:
    """`PrefixBreak` → `prefix_break`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


_COMMANDS: dict[str, type] = {type_name(kind): kind for kind in typing.get_args(Command)}
_EVENTS: dict[str, type] = {type_name(kind): kind for kind in typing.get_args(Event)}


def to_json(item: Command | Event) -> str:
    """One line of JSON, without a newline. Lone surrogates are escaped, so that any text survives."""
    return json.dumps({"type": type_name(type(item)), **dataclasses.asdict(item)}, ensure_ascii=True)


def command_from_json(line: str) -> Command:
    """Parse a command line. Raises `UsageError` that names what is wrong."""
    try:
        table = json.loads(line)
    except ValueError as error:
        raise UsageError(
            f"Not a JSON object: {error}.", 'Send lines like {"type": "send", "text": "hi"}.'
        ) from error
    if not isinstance(table, dict) or not isinstance(table.get("type"), str):
        raise UsageError("A command is a JSON object with a `type`.", f"Types: {', '.join(_COMMANDS)}.")
    name = table.pop("type")
    kind = _COMMANDS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, _COMMANDS, n=1)
        raise UsageError(
            f"Unknown command `{name}`.",
            f"Did you mean `{near[0]}`?" if near else f"Types: {', '.join(_COMMANDS)}.",
        )
    hints = typing.get_type_hints(kind)
    for key, value in table.items():
        if key not in hints:
            raise UsageError(f"`{name}` has no field `{key}`.", f"Fields: {', '.join(hints) or 'none'}.")
        if not _fits(value, hints[key]):
            raise UsageError(f"`{name}.{key}` cannot be {value!r}.")
    try:
        return typing.cast(Command, kind(**table))
    except TypeError as error:
        raise UsageError(f"`{name}` needs {_missing(kind, table)}.") from error


def event_from_json(line: str) -> Event | None:
    """Parse an event line that chatkv wrote; None for a type or line this version does not know."""
    try:
        table = json.loads(line)
        kind = _EVENTS[table.pop("type")]
    except (ValueError, KeyError, AttributeError):
        return None
    names = {item.name for item in dataclasses.fields(kind)}
    values = {key: value for key, value in table.items() if key in names}
    if kind is Kv:
        values["segments"] = tuple(KvSegment(**segment) for segment in values.get("segments", ()))
    return typing.cast(Event, kind(**values))


def _fits(value: Any, hint: Any) -> bool:
    allowed = typing.get_args(hint) or (hint,)
    if isinstance(value, bool):
        return bool in allowed
    return isinstance(value, tuple(allowed)) or (isinstance(value, int) and float in allowed)


def _missing(kind: type, table: dict[str, Any]) -> str:
    needed = [
        f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING and f.name not in table
    ]
    return ", ".join(f"`{name}`" for name in needed)
