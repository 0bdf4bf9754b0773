"""The decode loop: sample, hand out, feed, repeat. A token is in the ledger only once it has been fed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Literal

from chatkv.engine.local import LocalEngine
from chatkv.engine.sampling import Sampler

Ended = Literal["stop", "length", "cancelled", "context"]


class Decoder:
    """One answer. Iterate over it for token ids; afterwards `ended` says why it stopped and `fed` counts tokens.

    A token is yielded as soon as it is sampled and fed when the next one is asked for, so that the reader sees it
    one model call earlier. A reader that stops asking (a stop string) leaves its last token unfed. The ledger grows
    to `ceiling` tokens at most (None: as far as the engine allows).
    """

    def __init__(
        self,
        engine: LocalEngine,
        sampler: Sampler,
        *,
        end_ids: Collection[int],
        limit: int,
        turn: int,
        ceiling: int | None = None,
    ) -> None:
        self.engine = engine
        self.sampler = sampler
        self.end_ids = end_ids
        self.limit = limit
        self.turn = turn
        self.ceiling = ceiling or engine.limit_tokens
        self.fed = 0
        self.ended: Ended = "length"

    def run(self, cancelled: Callable[[], bool]) -> Iterator[int]:
        """Yield sampled ids until an end token, `limit` tokens, a full context, or `cancelled`.

        The engine's logits must be those after the prompt. Raises `EngineError`; the KV then holds what was fed.
        """
        while True:
            if cancelled():
                self.ended = "cancelled"
                return
            token = self.sampler.pick(self.engine.logits, self.engine.ledger.ids)
            if token in self.end_ids:
                self.ended = "stop"
                return
            if self.fed == self.limit:
                self.ended = "length"
                return
            if len(self.engine.ledger) >= min(self.ceiling, self.engine.limit_tokens):
                self.ended = "context"
                return
            yield token
            self.engine.feed([token], "answer", self.turn)
            self.fed += 1
