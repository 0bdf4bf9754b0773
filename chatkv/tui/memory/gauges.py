"""What the memory sidebar shows at one moment: one frozen `Gauges`. Plain data; `meter` keeps it up to date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from chatkv.protocol import Compaction, Drafted, Kv, Loading, Prefill, Ready, Restored
from chatkv.tui.memory.happenings import Happening

Phase = Literal["starting", "loading", "idle", "prefill", "decode", "down", "gone"]
"""`down`: the worker died and is being restarted. `gone`: it will not be, until someone asks for it."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One line of the table of turns. None = not known yet."""

    turn: int
    reused: int | None = None
    early: int | None = None
    prefilled: int = 0
    decoded: int = 0
    ttft_s: float | None = None
    tpot_s: float | None = None
    kv_tokens: int = 0
    """Tokens in the KV when it ended; of a running turn: the last exact count and what was added since."""
    live: bool = False
    """Still running: counts so far."""
    recalled: int = 0
    """Prompt tokens that came out of the archive."""


@dataclass(frozen=True, slots=True)
class Gauges:
    """Everything the sidebar and the status line draw."""

    phase: Phase = "starting"
    title: str = ""
    model: str = ""
    loading: Loading | None = None
    ready: Ready | None = None
    kv: Kv | None = None
    prefill: Prefill | None = None
    """Progress of the prompt being read; None outside of prefill."""
    rows: tuple[TurnRow, ...] = ()
    """Finished turns, oldest first."""
    current: TurnRow | None = None
    """The running turn, else the last one."""
    compaction: Compaction | None = None
    """Progress of the one that runs."""
    compactions: tuple[int, ...] = ()
    """How many turns had ended when room was made, each time."""
    restored: Restored | None = None
    """KV that comes, or at the last opening came, from disk. What takes no time is not told while it runs."""
    unsaved: str = ""
    """Why nothing reaches the database now; empty while all is well."""
    draft: Drafted | None = None
    """How what is being written stands; None while nothing is."""
    work: str = ""
    """What idle time is spent on: a word of `Idle`."""
    marks: Mapping[int, str] = field(default_factory=dict)
    """Turns that are pinned, summarized or archived."""
    happened: tuple[Happening, ...] = ()
    """The newest first, and no more than so many."""

    @property
    def live(self) -> bool:
        """Whether a turn runs."""
        return self.current is not None and self.current.live

    @property
    def tokens(self) -> int:
        """Tokens in the KV now."""
        if self.current is not None and self.current.live:
            return self.current.kv_tokens
        return self.kv.tokens if self.kv else 0

    @property
    def coming(self) -> Drafted | None:
        """The draft, if some of the turn that it would make is in the KV already."""
        return self.draft if self.draft and self.draft.prefilled and not self.live else None
