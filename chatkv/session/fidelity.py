"""How exactly KV is kept on disk: in int8 where a person wants it and a calibration of the model allows it.

Knows neither blocks nor files, only what was found out about the model, and to find it out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator

from chatkv.engine.calibrate import Calibration, calibrated
from chatkv.errors import StoreError
from chatkv.memory.policy import POLICIES
from chatkv.protocol import Event, Notice
from chatkv.runtime import Runtime
from chatkv.session.context import Context
from chatkv.store import Verdict

Work = Generator[Event, None, None]

_LEAST_TOKENS = 512
"""Tokens of a conversation that tell enough."""


class Fidelity:
    """Whether one model's KV may be kept in int8, and taken back from it."""

    def __init__(self, runtime: Callable[[], Runtime], context: Context) -> None:
        self._runtime = runtime
        self.context = context
        self._verdict: Verdict | None = None
        self._tried_at = 0

    @property
    def runtime(self) -> Runtime:
        """The one in use: settings change while a conversation is open."""
        return self._runtime()

    @property
    def wants_int8(self) -> bool:
        """Whether a person asked for it, and nothing but the model could speak against it."""
        return self.runtime.kv_int8 and (not self.runtime.engine.cache.can_move or self._heals)

    def writes_int8(self) -> bool:
        """Whether blocks are written in int8. Raises `StoreError`."""
        verdict = self._found() if self.wants_int8 else None
        return verdict is not None and verdict.allowed

    def reads_int8(self) -> bool:
        """Whether blocks in int8 may be read: always where idle time heals them. Raises `StoreError`."""
        return self._heals if self.runtime.engine.cache.can_move else self.writes_int8()

    def calibrate(self, n_exact: int) -> Work:
        """Find out once, on the first `n_exact` tokens of the live KV, if that is wanted and not known."""
        if not self.wants_int8 or n_exact < max(_LEAST_TOKENS, self._tried_at + 1) or self._found():
            return
        work = calibrated(self.runtime.engine, n_exact, _LEAST_TOKENS)
        found: Calibration | None = None
        while True:
            try:
                next(work)
            except StopIteration as end:
                found = end.value
                break
            yield self.runtime.kv_event()
        if found is None:
            self._tried_at = n_exact
            return
        engine = self.runtime.engine
        self._verdict = Verdict(
            engine.loaded.name, found.is_harmless, found.kl, found.agreement, found.n_tokens
        )
        with contextlib.suppress(StoreError):
            self.context.store.set_verdict(engine.fingerprint, self._verdict)
        yield said(self._verdict)

    def _found(self) -> Verdict | None:
        if self._verdict is None:  # another process may have found out meanwhile
            self._verdict = self.context.store.verdict(self.runtime.engine.fingerprint)
        return self._verdict

    @property
    def _heals(self) -> bool:
        return POLICIES[self.runtime.memory.policy].heals


def said(verdict: Verdict) -> Notice:
    """What was found out, in words."""
    figures = (
        f"over {verdict.n_tokens} tokens of this conversation its answers moved by {verdict.kl:.2g} nats, "
        f"and {verdict.agreement:.1%} of the first choices are the same"
    )
    if verdict.allowed:
        return Notice(f"KV of {verdict.model} is kept on disk in int8 from now on: {figures}.")
    return Notice(f"KV of {verdict.model} stays exact on disk: in int8 {figures}.", "warning")
