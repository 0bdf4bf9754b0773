"""A model on this machine with one live KV cache. Here, and only here, the model is called and tokens are counted.

The one rule lives here: after every call of `feed`, however it ended, every layer is as long as the ledger.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from chatkv.engine import device as devices
from chatkv.engine.loader import LoadedModel, feed_arguments
from chatkv.errors import EngineError
from chatkv.kv.cache import LiveCache
from chatkv.kv.ledger import Ledger


class LocalEngine:
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
        self.limit(limit_tokens or loaded.context_tokens)

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
            logits = self._call_model(ids)
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

    def _realign(self) -> None:
        kept = self.cache.truncate(len(self.ledger))
        if kept < len(self.ledger):
            self.ledger.truncate(kept)

    @torch.inference_mode()
    def _call_model(self, ids: Sequence[int]) -> Tensor:
        start, device = len(self.ledger), self.loaded.model.device
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
