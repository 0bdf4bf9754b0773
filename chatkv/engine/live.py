"""A model on this machine with one live KV cache. Here, and only here, the model is called and tokens are counted.

The one rule lives here: after every call of `feed`, however it ended, every layer is as long as the ledger.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from chatkv.engine import device as devices
from chatkv.engine.fingerprint import fingerprint
from chatkv.engine.loader import LoadedModel, feed_arguments
from chatkv.engine.parking import Parked, Parking
from chatkv.errors import DamagedBlockError, EngineError
from chatkv.kv import blocks
from chatkv.kv.cache import LiveCache
from chatkv.kv.ledger import Ledger
from chatkv.kv.sizing import grown_capacity


class LiveKv:
    """Feeds ids to the model and keeps ledger and cache in step.

    `limit_tokens` is how many tokens the KV may hold: the context length or what the budget allows, if smaller.
    """

    def __init__(self, loaded: LoadedModel, *, limit_tokens: int | None = None) -> None:
        self.loaded = loaded
        self.ledger = Ledger()
        self.cache = LiveCache(loaded.model.config)
        self._cache_argument, self._keeps_logits = feed_arguments(loaded.model)
        self._logits: Tensor | None = None
        self._logits_at = -1
        self.parking = Parking()
        self.budget_bytes: int | None = None
        """What the live KV and the parked ones may take together; None: no limit but the live one's own."""
        self.limit(limit_tokens or loaded.context_tokens)

    @property
    def n_layers(self) -> int:
        """Layers of the model."""
        return int(self.loaded.model.config.get_text_config(decoder=True).num_hidden_layers)

    @functools.cached_property
    def fingerprint(self) -> str:
        """The name of what makes KV of this model reusable."""
        return fingerprint(self.loaded)

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
        self.make_way(len(self.ledger) + len(ids))
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

    def restore(self, payload: bytes, name: str, ids: Sequence[int], skip: int = 0) -> None:
        """Append tokens whose KV stands in a block, from its `skip`-th on; nothing is computed. From int8 they are E2.

        Raises `DamagedBlockError` or `OutOfMemory`; the KV is as it was then, or shorter if it cannot be cut.
        """
        out_of_memory, exact, start = False, True, len(self.ledger)
        self.make_way(start + len(ids))
        try:
            exact = blocks.unpack_into(
                self.cache, payload, name, start, skip, len(ids), str(self.loaded.model.device)
            )
            if any(length != start + len(ids) for length in self.cache.lengths()):
                raise DamagedBlockError(f"KV block {name[:12]} does not fit this model.")
        except BaseException as error:
            self._realign()
            out_of_memory = devices.is_out_of_memory(error)
            if not out_of_memory:
                raise
        if out_of_memory:
            raise OutOfMemory("Out of memory while KV was read from disk.")
        self.ledger.restore(ids, "E0" if exact else "E2")
        self._logits_at = -1

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

    # ── several conversations ────────────────────────────────────────────────────────────────────────────

    def reserve(self, n_tokens: int) -> None:
        """Make room for `n_tokens` in one step."""
        self.make_way(n_tokens)
        self.cache.reserve(n_tokens)

    def park(self, name: str) -> None:
        """Keep the live KV warm under `name` while budget and memory have room; go on with an empty one."""
        if len(self.ledger):
            try:
                self.cache.shrink(len(self.ledger))
                self.parking.put(name, Parked(self.ledger, self.cache))
            except BaseException as error:
                if not devices.is_out_of_memory(error):
                    raise
        self._go_on_with(Parked(Ledger(), LiveCache(self.loaded.model.config)))

    def unpark(self, name: str) -> bool:
        """Go on with the KV that was kept under `name`; whether it was still there."""
        parked = self.parking.take(name)
        if parked is not None:
            self._go_on_with(parked)
        return parked is not None

    def begin_like(self, ids: Sequence[int]) -> int:
        """Copy into the empty KV what a parked one shares with `ids`, if memory allows; how many tokens that is."""
        like, n_same = self.parking.most_alike(ids)
        if like is None or len(self.ledger) or not self.cache.can_move:
            return 0
        self.make_way(n_same)
        try:
            self.cache.begin_like(like.cache, n_same)
        except BaseException as error:
            self._realign()
            if devices.is_out_of_memory(error):
                return 0  # it is read from disk or computed instead
            raise
        self.ledger.restore(ids[:n_same])
        return n_same

    def _go_on_with(self, parked: Parked) -> None:
        self.ledger, self.cache = parked.ledger, parked.cache
        self.ledger.mark()
        self._logits_at = -1
        self.limit(self.limit_tokens)

    def make_way(self, n_tokens: int) -> None:
        """Drop parked KV that would not fit beside a live one of `n_tokens`."""
        if len(self.parking) and self.budget_bytes is not None:
            live = grown_capacity(n_tokens, self.limit_tokens) * self.loaded.bytes_per_token
            live = max(live + self.loaded.fixed_bytes, self.cache.reserved_bytes)
            self.parking.drop_to(self.budget_bytes - live)

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────────

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
