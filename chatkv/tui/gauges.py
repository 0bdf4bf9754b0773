"""What the memory sidebar shows, kept up to date from protocol events: one frozen `Gauges` at any moment.

Plain Python. Every count is the worker's own; only TTFT and tok/s of a running turn are timed here, and are marked so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from chatkv.protocol import (
    Accepted,
    Compaction,
    Delta,
    Error,
    Event,
    Kv,
    Loading,
    Opened,
    Prefill,
    Ready,
    Recalled,
    Restored,
    Saving,
    Thought,
    Turn,
)

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


_WORTH_TELLING_S = 0.5


class Meter:
    """Turns events into `Gauges`. `clock` gives seconds that only grow."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.gauges = Gauges()
        self._clock = clock
        self._asked_at = 0.0
        self._first_at: float | None = None

    def open(self, title: str, rows: Iterable[TurnRow] = (), compactions: Iterable[int] = ()) -> None:
        """Another conversation is on screen; its past turns are `rows`, room was made after so many of them."""
        known = tuple(rows)
        self.gauges = replace(
            self.gauges,
            title=title,
            rows=known,
            current=known[-1] if known else None,
            kv=None,
            prefill=None,
            compaction=None,
            compactions=tuple(compactions),
            restored=None,
        )

    def rename(self, title: str) -> None:
        """The conversation on screen has this title."""
        self.gauges = replace(self.gauges, title=title)

    def ask(self) -> None:
        """A turn was handed to the worker now: the clock of its TTFT starts."""
        self._asked_at, self._first_at = self._clock(), None

    def on_death(self, *, final: bool, wanted: bool = False) -> None:
        """The worker and its KV are gone. `final`: it will not be restarted; `wanted`: for one with another model."""
        current = self.gauges.rows[-1] if self.gauges.rows else None
        self.gauges = replace(
            self.gauges,
            phase="gone" if final else "starting" if wanted else "down",
            model="" if wanted else self.gauges.model,
            ready=None,
            kv=None,
            prefill=None,
            loading=None,
            current=current,
            compaction=None,
            restored=None,
            unsaved="",
        )

    def on_event(self, event: Event) -> bool:
        """Take one event in; True if a gauge moved."""
        before = self.gauges
        match event:
            case Loading():
                self.gauges = replace(before, phase="loading", loading=event)
            case Ready():
                self.gauges = replace(before, phase="idle", loading=None, ready=event, model=event.model)
            case Opened():
                self.gauges = replace(before, title=event.title, model=event.model or before.model)
            case Kv():
                current = (
                    self._live(event.tokens) if before.current and before.current.live else before.current
                )
                self.gauges = replace(before, kv=event, current=current)
            case Accepted():
                self._first_at = None
                known = before.kv.tokens if before.kv else before.rows[-1].kv_tokens if before.rows else 0
                current = TurnRow(event.turn, kv_tokens=known, live=True)
                self.gauges = replace(before, phase="prefill", current=current, prefill=None, restored=None)
            case Prefill(early=False):
                self._on_prefill(event)
            case Delta(decoded=decoded) | Thought(decoded=decoded):
                self._on_text(decoded)
            case Recalled(turn=turn, tokens=tokens) if (
                before.current and before.current.live and before.current.turn == turn
            ):
                self.gauges = replace(before, current=replace(before.current, recalled=tokens))
            case Restored(stage=stage, seconds=seconds):
                told = stage != "reading" or seconds >= _WORTH_TELLING_S
                self.gauges = replace(before, restored=event if told else None)
            case Saving(ok=ok, reason=reason):
                self.gauges = replace(
                    before, unsaved="" if ok else reason or "the database cannot be written"
                )
            case Compaction():
                self._on_compaction(event)
            case Turn():
                self._on_turn(event)
            case Error() if before.phase in ("prefill", "decode"):
                self.gauges = replace(before, phase="idle", prefill=None, compaction=None)
            case Error(command="compact"):
                self.gauges = replace(before, compaction=None)
        return self.gauges is not before

    def _on_prefill(self, event: Prefill) -> None:
        current = self._live()
        added = event.done - current.prefilled
        current = replace(
            current,
            reused=event.reused,
            early=event.prefilled_early,
            prefilled=event.done,
            kv_tokens=current.kv_tokens + added,
        )
        self.gauges = replace(self.gauges, phase="prefill", prefill=event, current=current)

    def _on_compaction(self, event: Compaction) -> None:
        running = event if event.stage in ("summarizing", "rebuilding") else None
        self.gauges = replace(self.gauges, compaction=running)
        if event.stage == "done":
            made = (*self.gauges.compactions, len(self.gauges.rows))
            self.gauges = replace(self.gauges, compactions=made)

    def _on_text(self, decoded: int) -> None:
        now, current = self._clock(), self._live()
        if self._first_at is None:
            self._first_at = now
        tpot_s = (now - self._first_at) / (decoded - 1) if decoded > 1 else None
        current = replace(
            current,
            decoded=decoded,
            ttft_s=self._first_at - self._asked_at,
            tpot_s=tpot_s,
            kv_tokens=current.kv_tokens + decoded - current.decoded,
        )
        self.gauges = replace(self.gauges, phase="decode", prefill=None, current=current, compaction=None)

    def _on_turn(self, event: Turn) -> None:
        row = TurnRow(
            event.turn,
            event.reused,
            event.prefilled_early,
            event.prefilled,
            event.decoded,
            event.ttft_s,
            event.tpot_s,
            event.kv_tokens,
            recalled=event.recalled,
        )
        known = self.gauges.kv or Kv(0, 0, 0, 0, self.gauges.ready.context_tokens if self.gauges.ready else 0)
        kv = replace(
            known,
            tokens=event.kv_tokens,
            used_bytes=event.kv_used_bytes,
            reserved_bytes=event.kv_reserved_bytes,
            budget_bytes=event.kv_budget_bytes,
        )
        rows = (*self.gauges.rows, row)
        self.gauges = replace(
            self.gauges, phase="idle", prefill=None, rows=rows, current=row, kv=kv, compaction=None
        )

    def _live(self, kv_tokens: int | None = None) -> TurnRow:
        current = self.gauges.current
        if current is None or not current.live:
            current = TurnRow(len(self.gauges.rows) + 1, live=True)
        return current if kv_tokens is None else replace(current, kv_tokens=kv_tokens)
