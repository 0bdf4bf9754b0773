"""Which blocks on disk hold what the KV lacks, and whether reading them is faster than computing it.

Looks only into the index; what a block really holds is found out when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from chatkv.kv.blocks import BLOCK_TOKENS, block_name, exact_name, full_names, is_int8, root_name
from chatkv.kv.ledger import common_prefix
from chatkv.runtime import Runtime
from chatkv.session.context import Context
from chatkv.session.fidelity import Fidelity
from chatkv.store import BlockRecord

LEAST_TOKENS = 16
"""Tokens from which a file is worth writing or reading."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a block that the KV lacks: `take` tokens from its `skip`-th on."""

    block: BlockRecord
    skip: int
    take: int


class Finder:
    """Finds blocks for one context. `forget` is called with a block whose row is damaged."""

    def __init__(
        self,
        runtime: Callable[[], Runtime],
        context: Context,
        fidelity: Fidelity,
        forget: Callable[[BlockRecord], None],
    ) -> None:
        self.read_per_s: float | None = None
        """Bytes a second, as last read here."""
        self._runtime = runtime
        self._context = context
        self._fidelity = fidelity
        self._forget = forget
        self._fingerprint = runtime().engine.fingerprint

    def worth_reading(self, ids: Sequence[int], shared: int) -> Iterator[Piece]:
        """The pieces that go on from `shared`, if reading them is faster than computing them."""
        pieces = list(self._pieces(ids, shared))
        if not self._runtime().engine.cache.can_move:
            # States stand at the end of a tail only.
            whole = (
                bool(pieces) and len(pieces[-1].block.ids) == pieces[-1].skip + pieces[-1].take < BLOCK_TOKENS
            )
            pieces = pieces if whole else []
        n_tokens = sum(piece.take for piece in pieces)
        if n_tokens >= LEAST_TOKENS and self.is_faster(
            n_tokens, sum(piece.block.n_bytes for piece in pieces)
        ):
            yield from pieces

    def is_faster(self, n_tokens: int, n_bytes: int) -> bool:
        """Whether reading `n_bytes` takes less time than computing `n_tokens`, as measured; yes before that."""
        measured = self._context.store.rates(self._fingerprint)
        prefill = self._runtime().prefiller.tokens_per_s or (measured[0] if measured else None)
        read = self.read_per_s or (measured[1] if measured else None)
        return prefill is None or read is None or n_bytes / read < n_tokens / prefill

    def _pieces(self, ids: Sequence[int], shared: int) -> Iterator[Piece]:
        at = shared // BLOCK_TOKENS * BLOCK_TOKENS
        parent, int8 = root_name(self._fingerprint), self._fidelity.reads_int8()
        for name in full_names(ids[:at], self._fingerprint):
            parent = name
        while at < len(ids):
            block, n_same = self._best_child(parent, ids[at : at + BLOCK_TOKENS], int8)
            skip = max(0, shared - at)
            if block is None or n_same <= skip:
                return
            yield Piece(block, skip, n_same - skip)
            if n_same < BLOCK_TOKENS:
                return
            parent, at = exact_name(block.name), at + BLOCK_TOKENS

    def _best_child(self, parent: str, ids: Sequence[int], int8: bool) -> tuple[BlockRecord | None, int]:
        """The block after `parent` that begins with most of `ids`, an exact one if it has as many, and how many."""
        best: BlockRecord | None = None
        highest = (0, True)
        for block in self._context.store.block_children(parent, self._fingerprint):
            if block_name(parent, block.ids) != exact_name(block.name):
                self._forget(block)
                continue
            rank = (common_prefix(block.ids, ids), not is_int8(block.name))
            usable = self._runtime().engine.cache.can_move or rank[0] == len(block.ids)
            if usable and (int8 or rank[1]) and rank > highest:
                best, highest = block, rank
        return best, highest[0]

    def save_rates(self) -> None:
        """Keep what was measured for the next process."""
        prefill, read = self._runtime().prefiller.tokens_per_s, self.read_per_s
        if prefill is not None and read is not None:
            self._context.store.set_rates(self._fingerprint, prefill, read)
