"""A model on this machine with one live KV cache. Here, and only here, the model is called and tokens are counted.

The one rule lives here: after every call of `feed`, however it ended, every layer is as long as the ledger.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from chatkv.engine import device as devices
from chatkv.engine import positions
from chatkv.engine.loader import LoadedModel, feed_arguments
from chatkv.errors import EngineError
from chatkv.kv.cache import LiveCache
from chatkv.kv.ledger import Ledger
from chatkv.kv.moves import Move
from chatkv.kv.rotate import Turning


class LocalEngine:
    """Feeds ids to the model and keeps ledger and cache in step.

    `limit_tokens` is how many tokens the KV may hold: the context length or what the budget allows, if smaller.
    """

    def __init__(self, loaded: LoadedModel, *, limit_tokens: int | None = None) -> None:
        self.loaded = loaded
        self.ledger = Ledger()
        self.cache = LiveCache(loaded.model.config)
        self._cache_argument, self._keeps_logits = feed_arguments(loaded.model)
        self._live: Ledger | None = None
        self._turnings: tuple[Turning, ...] | Literal[False] | None = False
        self._logits: Tensor | None = None
        self._logits_at = -1
        self.limit(limit_tokens or loaded.context_tokens)

    @property
    def n_layers(self) -> int:
        """Layers of the model."""
        return int(self.loaded.model.config.get_text_config(decoder=True).num_hidden_layers)

    def limit(self, n_tokens: int) -> None:
        """Hold at most `n_tokens`, and reserve no slack beyond them."""
        self.limit_tokens = min(n_tokens, self.loaded.context_tokens)
        self.cache.limit(self.limit_tokens)

    def nearest(self, n_tokens: int) -> int:
        """The length that `rewind(n_tokens)` would leave."""
        return n_tokens if n_tokens >= len(self.ledger) else self.cache.nearest(n_tokens)

    def rewind(self, n_tokens: int) -> int:
        """Cut ledger and cache to `n_tokens`, or to the nearest shorter length the layers can go back to."""
        if n_tokens < len(self.ledger):
            self.ledger.truncate(self.cache.truncate(n_tokens))
        return len(self.ledger)

    def feed(self, ids: Sequence[int], kind: str, turn: int) -> None:
        """Run the model on `ids` after the ledger; on success they are in the KV and in the ledger.

        On any failure, `KeyboardInterrupt` included, cache and ledger are back in step before it is raised.
        Raises `EngineError` for out of memory (`OutOfMemory`) and for a cache that did not grow as it should.
        """
        assert ids, "nothing to feed"
        out_of_memory = False
        try:
            logits = self._call_model(ids, len(self.ledger))
            if any(length != len(self.ledger) + len(ids) for length in self.cache.lengths()):
                raise EngineError("The model did not store what it was fed.", "Please choose another model.")
        except BaseException as error:
            self._realign()
            out_of_memory = devices.is_out_of_memory(error)
            if not out_of_memory:
                raise
        if out_of_memory:
            gc.collect()
            devices.drop_scratch(self.loaded.device)
            raise OutOfMemory(
                f"Out of memory while reading {len(ids)} tokens.", "See `chatkv doctor` for what is free."
            )
        self.ledger.append(ids, kind, turn)
        self._logits, self._logits_at = logits, len(self.ledger)

    @property
    def logits(self) -> Tensor:
        """Scores [vocab] of the token after the ledger; valid until the ledger changes."""
        assert self._logits is not None
        assert self._logits_at == len(self.ledger), "the ledger changed after these logits were computed"
        return self._logits

    def checkpoint(self) -> None:
        """Make the present length one that recurrent layers can go back to."""
        self.cache.checkpoint(len(self.ledger))

    def in_step(self) -> bool:
        """Whether every layer is as long as the ledger."""
        return all(length == len(self.ledger) for length in self.cache.lengths())

    # ── building beside the live KV ──────────────────────────────────────────────────────────────────────

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

    def _realign(self) -> None:
        kept = self.cache.truncate(len(self.ledger))
        if kept < len(self.ledger):
            self.ledger.truncate(kept)

    @torch.inference_mode()
    def _call_model(self, ids: Sequence[int], start: int) -> Tensor:
        device = self.loaded.model.device
        options: dict[str, Any] = {"logits_to_keep": 1} if self._keeps_logits else {}
        out = self.loaded.model(
            input_ids=torch.tensor([list(ids)], device=device),
            position_ids=torch.arange(start, start + len(ids), device=device)[None],
            use_cache=True,
            **{self._cache_argument: self.cache},
            **options,
        )
        logits: Tensor = out.logits[0, -1]
        if logits.is_cuda:
            torch.cuda.synchronize(logits.device)
        return logits


class OutOfMemory(EngineError):
    """An allocation failed; the KV is whole."""


def _spliced(built: Ledger, n_fed: int, live: Ledger, moves: Sequence[Move]) -> Ledger:
    """`built`, of which the last `n_fed` tokens were just fed, with stretches of `live` behind it."""
    n_fresh = n_fed + len(live) - live.low
    for move in moves:
        start = len(built)
        built.append(live.ids[move.source : move.source + move.n_tokens], "wrapper", 0)
        built.retier(start, len(built), "E2")
    built.low = max(0, len(built) - n_fresh)
    return built
