"""Keeps the gauges up to date from protocol events.

Plain Python. Every count is the worker's own; only TTFT and tok/s of a running turn are timed here, and are marked so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from chatkv.protocol import (
    Accepted,
    Compaction,
    Delta,
    Drafted,
    Error,
    Event,
    Idle,
    Kv,
    Loading,
    Marks,
    Opened,
    Prefill,
    Ready,
    Recalled,
    Restored,
    Saving,
    Thought,
    Turn,
)
from chatkv.tui.inert import one_line
from chatkv.tui.memory.gauges import Gauges, TurnRow
from chatkv.tui.memory.happenings import Happening, Severity, quiet

_WORTH_TELLING_S = 0.5
_KEPT = 500


class Meter:
    """Turns events into `Gauges`. `clock` gives seconds that only grow, `now` those since the epoch."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, now: Callable[[], float] = time.time
    ) -> None:
        self.gauges = Gauges()
        self._clock = clock
        self._now = now
        self._asked_at = 0.0
        self._first_at: float | None = None

    def open(
        self,
        title: str,
        rows: Iterable[TurnRow] = (),
        compactions: Iterable[int] = (),
        happened: Iterable[Happening] = (),
    ) -> None:
        """Another conversation is on screen; its past turns are `rows`, room was made after so many of them.

        `happened`: what is known of its past, the newest first.
        """
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
            draft=None,
            marks={},
            happened=tuple(happened)[:_KEPT],
        )

    def note(self, text: str, level: Severity = "info") -> None:
        """This happened now."""
        happened = (Happening(self._now(), one_line(text), level), *self.gauges.happened)
        self.gauges = replace(self.gauges, happened=happened[:_KEPT])

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
            draft=None,
            work="",
        )

    def on_event(self, event: Event) -> bool:
        """Take one event in; True if a gauge moved."""
        earlier = self.gauges
        if text := quiet(event):
            self.note(text, "quiet")
        self._take(event)
        return self.gauges is not earlier

    def _take(self, event: Event) -> None:
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
                begun = replace(before, phase="prefill", current=current, prefill=None, restored=None)
                self.gauges = replace(begun, draft=None, work="")
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
            case Drafted():
                self.gauges = replace(before, draft=event if event.tokens or event.prefilled else None)
            case Idle(work=work):
                self.gauges = replace(before, work=work)
            case Marks(turns=turns):
                marked = {turn.turn: turn.mark for turn in turns if turn.mark != "verbatim"}
                self.gauges = replace(before, marks=marked)

    def _on_prefill(self, event: Prefill) -> None:
        current, before = self._live(), event.reused + event.prefilled_early
        held = before + event.done if before else current.kv_tokens + event.done - current.prefilled
        current = replace(
            current,
            reused=event.reused,
            early=event.prefilled_early,
            prefilled=event.done,
            kv_tokens=held,
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
