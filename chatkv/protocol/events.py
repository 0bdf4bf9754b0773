"""What a session tells: one frozen dataclass an event.

Sizes are in bytes, lengths in tokens, times in seconds; ids are those of the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chatkv.protocol.memory import Compaction, Kept, Marks, Recalled, Summarized

Finish = Literal["stop", "length", "cancelled", "error", "context"]
"""Why a turn ended: end token or stop string; token limit; the user; a failure; context or budget full."""

Level = Literal["info", "warning"]
"""How much a notice matters."""


@dataclass(frozen=True, slots=True)
class Loading:
    """Progress of getting the model ready. `total` 0 = unknown; `unit`: `B`, `files`, `tensors` or empty."""

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
    """The session that further commands act on. `leaf_id` is its newest message, None when it has none.

    `writer`: the process id of another process that has it open for writing, 0 for none. While there is one, this one
    only reads: what would change the session is refused.
    """

    session: str
    title: str
    model: str
    leaf_id: int | None = None
    writer: int = 0


@dataclass(frozen=True, slots=True)
class Accepted:
    """A turn began: the user's message is committed to the database and an empty answer stands beside it."""

    turn: int
    user_id: int
    answer_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Prefill:
    """`done` of `total` tokens that this turn must prefill are in the KV; `early` = idle work, not a turn.

    Of a turn, `reused` and `prefilled_early` say how many tokens of its prompt were there before.
    """

    done: int
    total: int
    early: bool = False
    reused: int = 0
    prefilled_early: int = 0


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of answer `message_id`. `decoded`: tokens sampled so far in this turn."""

    message_id: int
    text: str
    decoded: int = 0


@dataclass(frozen=True, slots=True)
class Thought:
    """More text that the model thinks before answer `message_id`. `decoded` as in `delta`."""

    message_id: int
    text: str
    decoded: int = 0


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
    """A run of ledger tokens with one owner. `kind`: system, summary, user, thought, answer,
    wrapper, or draft (what is being written).

    `tier` is its exactness. `heat`: share of attention that recent questions paid to its turn, 0 to 1.
    """

    kind: str
    turn: int
    tokens: int
    tier: str = "E0"
    heat: float = 0.0
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Kv:
    """The state of the KV cache, read from the tensors themselves.

    `limit_tokens` is what budget and context allow; the marks are in tokens. `second_bytes` are those of the
    part that is being built beside the live one, `warm_bytes` those of other sessions that are kept in memory while
    there is room; both lie inside the reserved ones.
    """

    tokens: int
    used_bytes: int
    reserved_bytes: int
    budget_bytes: int
    context_tokens: int
    segments: tuple[KvSegment, ...] = ()
    limit_tokens: int = 0
    soft_tokens: int = 0
    hard_tokens: int = 0
    target_tokens: int = 0
    second_bytes: int = 0
    weights_bytes: int = 0
    scratch_bytes: int = 0
    slack_bytes: int = 0
    rss_bytes: int = 0
    warm_bytes: int = 0
    warm_sessions: int = 0


@dataclass(frozen=True, slots=True)
class Restored:
    """KV comes back from disk: `tokens` of `total` so far; nothing is computed for them.

    Stages: `reading`, `done`, `refused` (`reason` says why the rest is computed instead). `seconds` and `n_bytes` are
    what reading took so far.
    """

    stage: Literal["reading", "done", "refused"]
    tokens: int
    total: int
    n_bytes: int = 0
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Saving:
    """Whether what is said reaches the database. `ok` False: it is kept in memory, and `reason` says why.

    Sent when it changes; saving resumes by itself as soon as it can.
    """

    ok: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Drafted:
    """How the newest draft stands: `tokens` in it, `free` as many as fit before old turns have to go, `room` as many as
    a message may have at all (both 0 while that is not known).

    `prefilled` of the prompt that it would make are in the KV for its sake, ahead of Enter.
    """

    tokens: int
    free: int
    room: int
    prefilled: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """The answer to `count`: so many tokens."""

    key: str
    tokens: int


Idling = Literal["", "settling", "drafting", "compacting", "healing", "writing", "reading", "indexing"]


@dataclass(frozen=True, slots=True)
class Idle:
    """What is worked on while nothing is asked; empty when nothing is. Sent when it changes.

    `settling`: the KV is brought to what no next message can change. `drafting`: a draft is prefilled. `compacting`,
    `healing`: see `Compaction`. `writing`, `reading`: KV to and from disk. `indexing`: for recall and the search.
    """

    work: Idling


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
    choices: tuple[str, ...] = ()
    """What could be done with the text instead: `head` (send its beginning), `document` (`keep` it)."""


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
    | Compaction
    | Summarized
    | Marks
    | Recalled
    | Kept
    | Restored
    | Saving
    | Drafted
    | Counted
    | Idle
    | PrefixBreak
    | Notice
    | Error
    | Closed
)
