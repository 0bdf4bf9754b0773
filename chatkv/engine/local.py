"""The engine whole: the live KV, and building a part of it anew beside what stands or in its place.

Until what is built is put in place, the live KV is as it was.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Literal

from chatkv.engine import device as devices
from chatkv.engine import positions
from chatkv.engine.live import LiveKv, OutOfMemory
from chatkv.engine.loader import LoadedModel
from chatkv.kv.ledger import Ledger
from chatkv.kv.moves import Move
from chatkv.kv.rotate import Turning

__all__ = ["LocalEngine", "OutOfMemory"]


class LocalEngine(LiveKv):
    """The live KV of a model on this machine, which can also be moved, spliced and computed again in place."""

    def __init__(self, loaded: LoadedModel, *, limit_tokens: int | None = None) -> None:
        super().__init__(loaded, limit_tokens=limit_tokens)
        self._live: Ledger | None = None
        self._turnings: tuple[Turning, ...] | Literal[False] | None = False

    @property
    def turnings(self) -> tuple[Turning, ...] | None:
        """How keys turn with position, a layer each; None where moving them is not valid for this model.

        Found out by trying, once: the same text is read at two places, and what leads from one set of keys to
        the other must be a rotation by the model's own frequencies.
        """
        if self._turnings is False:
            self._turnings = positions.turnings(self.loaded)
        return self._turnings or None

    def fork(self, n_tokens: int, room: int) -> None:
        """Feed from now on a copy of the first `n_tokens` that stands beside the live KV, until `join` or `graft`.

        The ledger is that of the copy meanwhile. `room` is how many tokens will be fed.
        """
        assert self.cache.can_move
        assert self._live is None
        self.make_way(len(self.ledger) + n_tokens + room)
        try:
            self.cache.fork(n_tokens, room)
        except BaseException as error:
            self.cache.join()
            if devices.is_out_of_memory(error):
                raise OutOfMemory("Out of memory while building a second part of the KV.") from error
            raise
        self._live, self.ledger = self.ledger, self.ledger.copy(n_tokens)

    def join(self) -> None:
        """Forget what was built beside; the live KV is as it was. Does nothing without a fork."""
        if self._live is not None:
            self.cache.join()
            self.ledger, self._live = self._live, None
            self._logits_at = -1

    def graft(self, shared: int, moves: Sequence[Move]) -> None:
        """Make the fork the new beginning of the live KV and append the moved stretches, keys rotated to their places.

        `shared`: how many tokens of the fork were copied. Moves are in order, each to the left, without gaps from the
        end of the fork on. If it fails, the KV is cut to `shared` tokens, which no move touches.
        """
        assert self._live is not None
        live, built = self._live, self.ledger
        with self._all_or_cut(live, shared):
            self.cache.graft(shared)
            self._move(moves)
        self._live = None
        self.ledger = _spliced(built, len(built) - shared, live, moves)

    def replace(self, shared: int, ids: Sequence[int], moves: Sequence[Move]) -> None:
        """Feed `ids` behind the first `shared` tokens, over what stands there, and append the moved stretches.

        As `graft`, but in place and at once; `ids` must end before the first stretch that is moved.
        """
        live = self.ledger
        assert shared + len(ids) <= (moves[0].source if moves else len(live))
        with self._all_or_cut(live, shared):
            self.cache.show(shared)
            if ids:
                self._call_model(ids, shared)
            self._move(moves)
        built = live.copy(shared)
        built.append(ids, "wrapper", 0)
        self.ledger = _spliced(built, len(ids), live, moves)

    def _move(self, moves: Sequence[Move]) -> None:
        assert self.turnings is not None
        self.cache.move(moves, self.turnings)

    @contextlib.contextmanager
    def _all_or_cut(self, live: Ledger, shared: int) -> Iterator[None]:
        """If what happens inside fails, the KV is the first `shared` tokens of `live`."""
        self._logits_at = -1
        try:
            yield
        except BaseException as error:
            self.cache.join(shared)
            live.truncate(shared)
            self.ledger, self._live = live, None
            if devices.is_out_of_memory(error):
                raise OutOfMemory("Out of memory while moving a part of the KV.") from error
            raise

    def refresh(self, start: int, end: int) -> None:
        """Compute the KV of the tokens from `start` to `end` anew, in place, from those before them.

        The tokens behind stay as they are. Whatever happens, every layer holds the whole ledger afterwards.
        """
        assert self.cache.can_move
        ids = self.ledger.ids[start:end]
        try:
            self.cache.show(start)
            self._call_model(ids, start)
        except BaseException as error:
            if devices.is_out_of_memory(error):
                devices.drop_scratch(self.loaded.device)
                raise OutOfMemory("Out of memory while reading tokens again.") from error
            raise
        finally:
            self.cache.show(len(self.ledger))
            self._logits_at = -1
        self.ledger.retier(start, end, "E1")


def _spliced(built: Ledger, n_fed: int, live: Ledger, moves: Sequence[Move]) -> Ledger:
    """`built`, of which the last `n_fed` tokens were just fed, with stretches of `live` behind it."""
    n_fresh = n_fed + len(live) - live.low
    for move in moves:
        start = len(built)
        built.append(live.ids[move.source : move.source + move.n_tokens], "wrapper", 0)
        built.retier(start, len(built), "E2")
    built.low = max(0, len(built) - n_fresh)
    return built
