"""A message while it is being written: counted at once, and read into the KV in idle steps, ahead of Enter.

Nothing of it reaches the store, and what is not sent is cut again. Knows nothing of keys or screens: the newest text
is what counts.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator

from chatkv.errors import ChatkvError
from chatkv.memory.room import LEAST_ANSWER
from chatkv.protocol import Drafted, Event
from chatkv.session.prompts import Prompts
from chatkv.session.upkeep import Upkeep
from chatkv.tokens import Rendered

Work = Generator[Event, None, None]

REST_S = 0.3
"""Nobody has written for so long: the text may be what is sent."""
_READING_S = 1.0
"""Whoever has not written for so long reads what is there."""
_UNSTEADY_TOKENS = 6
"""Tokens at the end of a text that grows: the next letters may make others of them."""
_LEAST_TOKENS = 8
"""Fewer are not worth a call of the model while the text grows."""


class Drafting:
    """The draft of one conversation. Takes idle steps once `upkeep` has none to take."""

    def __init__(self, upkeep: Upkeep, prompts: Prompts) -> None:
        self._upkeep = upkeep
        self._prompts = prompts
        self._text = ""
        self._n_tokens = 0
        self._changed_at = 0.0
        self._given_up = False
        self._done: tuple[Rendered, bool] | None = None
        self._wanted: tuple[Rendered, bool, Rendered | None] | None = None
        self._told = Drafted(0, 0, 0)

    def write(self, text: str) -> None:
        """What is being written now; empty when nothing is."""
        if text != self._text:
            self._text, self._n_tokens = text, self._upkeep.runtime.codec.count(text)
            self._changed_at, self._given_up = time.monotonic(), False
            self._done = self._wanted = None

    def sent(self, text: str) -> None:
        """`text` is a message from now on; what is written beyond it stays a draft."""
        self._done = self._wanted = None
        if text == self._text:
            self._text, self._n_tokens = "", 0

    def drafted(self, *, busy: bool = False) -> Drafted:
        """How the draft stands. While an answer runs (`busy`) only its tokens are known."""
        planner, ledger = self._upkeep.planner, self._upkeep.runtime.engine.ledger
        self._told = Drafted(self._n_tokens, 0, 0)
        if not busy:
            # A template that refuses this conversation says so when something is sent.
            with contextlib.suppress(ChatkvError):
                self._told = Drafted(self._n_tokens, planner.free, planner.most, ledger.n_drafted)
        return self._told

    def cut(self) -> None:
        """Take the draft out of the KV, before the conversation changes; idle time puts it back."""
        self._upkeep.cut_draft()
        self._done = self._wanted = None

    # ── idle ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def has_work(self) -> bool:
        """Whether `step` would do something. Asked once `upkeep` has nothing to do."""
        if not self._text and self._told.tokens == self._n_drafted == 0:
            return False
        try:
            stable, at_rest = self._upkeep.planner.stable, self._is_at_rest
        except ChatkvError:
            return False
        return self._done is None or self._done[0] is not stable or self._done[1] != at_rest

    def due_in_s(self) -> float | None:
        """Seconds until the text counts as at rest; None: it does, or there is none."""
        if not self._text.strip() or self._is_at_rest:
            return None
        return max(0.0, self._changed_at + REST_S - time.monotonic())

    def step(self) -> Work:
        """A moment of idle work: cut what the text has become another than, read a little of what it is."""
        stable, at_rest = self._upkeep.planner.stable, self._is_at_rest
        before, told = self._n_drafted, self._told
        try:
            goes_on = self._read(stable, at_rest)
        except ChatkvError:  # sending it will say what is wrong
            self._given_up, goes_on = True, False
            self.cut()
        if not goes_on:
            self._done = stable, at_rest
        if self._n_drafted < before:
            self._upkeep.runtime.engine.cache.give_back()
        if self._n_drafted != before:
            yield self._upkeep.runtime.kv_event()
        if self.drafted() != told:
            yield self._told

    def _read(self, stable: Rendered, at_rest: bool) -> bool:
        """Bring the KV nearer to the prompt that the text makes; whether there is more to do."""
        runtime, settled = self._upkeep.runtime, len(stable.ids)
        engine, prefiller = runtime.engine, runtime.prefiller
        if engine.ledger.shared(stable.ids) < settled or self._must_wait(at_rest):
            return False
        prompt = self._prompt(stable, at_rest)
        if prompt is None:
            self._upkeep.cut_draft()
            return False
        shared = engine.ledger.shared(prompt.ids)
        if engine.rewind(shared) < settled:
            return False
        upto = len(prompt.ids) - 1
        if not at_rest:
            upto = _end_of_message(prompt) - _UNSTEADY_TOKENS
            if upto - len(engine.ledger) < _LEAST_TOKENS:
                upto = 0
        return prefiller.draft_step(prompt, upto, settled, most=self._most) > 0

    @property
    def _most(self) -> int | None:
        """Tokens of a step: ever more the longer nobody has written, since ever more likely just that is sent. Small
        steps leave a message that comes waiting for less; large ones are faster for each token."""
        chunk, rested_s = self._upkeep.runtime.prefiller.chunk, time.monotonic() - self._changed_at
        return None if rested_s < REST_S else chunk // 4 if rested_s < _READING_S else chunk

    def _must_wait(self, at_rest: bool) -> bool:
        """Whether nothing is to be done before the text is at rest: what is recalled for it stands before it, and a
        cache that goes back only to checkpoints would read it anew with every letter."""
        if at_rest or not self._text.strip():
            return False
        return not self._upkeep.runtime.engine.cache.can_move or self._prompts.may_recall

    def _prompt(self, stable: Rendered, at_rest: bool) -> Rendered | None:
        """The prompt that the text makes; None if nothing of it is to be read ahead."""
        if self._wanted is None or self._wanted[0] is not stable or self._wanted[1] != at_rest:
            self._wanted = stable, at_rest, self._rendered(stable, at_rest)
        return self._wanted[2]

    def _rendered(self, stable: Rendered, at_rest: bool) -> Rendered | None:
        runtime, planner, settled = self._upkeep.runtime, self._upkeep.planner, len(stable.ids)
        if not self._text.strip() or self._given_up or not runtime.drafts:
            return None
        if self._n_tokens > planner.most or planner.is_full(self._n_tokens) or not self._can_go_back(settled):
            return None
        prompt = self._prompts.preview(self._text, recall=at_rest)
        fits = len(prompt.ids) + LEAST_ANSWER <= planner.room.ceiling
        return prompt if fits and prompt.ids[:settled] == stable.ids else None

    def _can_go_back(self, settled: int) -> bool:
        """Whether the KV can be cut to what is settled, and nothing more."""
        return self._upkeep.runtime.engine.cache.nearest(settled) == settled

    @property
    def _is_at_rest(self) -> bool:
        return time.monotonic() >= self._changed_at + REST_S

    @property
    def _n_drafted(self) -> int:
        return self._upkeep.runtime.engine.ledger.n_drafted


def _end_of_message(prompt: Rendered) -> int:
    """How many ids of a prompt stand before the end of its newest message."""
    ends, at = [0], 0
    for segment in prompt.segments:
        at += segment.n_tokens
        if segment.kind == "user":
            ends.append(at)
    return ends[-1]
