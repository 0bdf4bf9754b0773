"""Which stretches of an old KV can serve in a new one, found by comparing ids. Plain Python, no tensors.

Knows nothing of summaries or policies: it is given two renderings of one conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatkv.kv.ledger import common_prefix
from chatkv.tokens import Rendered

_SHORTEST = 4
"""Fewer tokens are not worth a move."""


@dataclass(frozen=True, slots=True)
class Move:
    """`n_tokens` positions from `source` on are to stand from `target` on, `target` <= `source`."""

    source: int
    target: int
    n_tokens: int


@dataclass(frozen=True, slots=True)
class Splice:
    """A new KV made of an old one: the first `shared` tokens stay, those up to `built` are prefilled, then `moves`.

    Moves follow each other without a gap, each to the left. What is left over behind the last must be prefilled.
    """

    shared: int
    built: int
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class _Block:
    """The ids that belong to one turn."""

    turn: int
    start: int
    end: int


def splice(old: Rendered, new: Rendered) -> Splice:
    """How `new` can be made of a KV that holds `old`; without moves where nothing fits."""
    shared = common_prefix(old.ids, new.ids)
    there = {block.turn: block for block in _blocks(old)}
    built, read, moves = len(new.ids), 0, list[Move]()
    for block in _blocks(new):
        if block.end <= shared:
            continue
        match = there.get(block.turn) if block.turn else None
        n = _common_suffix(old.ids, match, new.ids, block) if match else 0
        n = min(n, block.end - max(block.start, shared))
        target, source = block.end - n, (match.end if match else 0) - n
        if moves and n < block.end - block.start:
            break
        if n < _SHORTEST or source < max(target, read):
            if moves:
                break
            continue
        built = built if moves else target
        moves.append(Move(source, target, n))
        read = source + n
    return Splice(shared, built, _merged(moves))


def _blocks(prompt: Rendered) -> list[_Block]:
    blocks: list[_Block] = []
    start = 0
    for segment in prompt.segments:
        end = start + segment.n_tokens
        if blocks and blocks[-1].turn == segment.turn:
            blocks[-1] = _Block(segment.turn, blocks[-1].start, end)
        else:
            blocks.append(_Block(segment.turn, start, end))
        start = end
    return blocks


def _common_suffix(old: Sequence[int], a: _Block, new: Sequence[int], b: _Block) -> int:
    longest = min(a.end - a.start, b.end - b.start)
    n = 0
    while n < longest and old[a.end - 1 - n] == new[b.end - 1 - n]:
        n += 1
    return n


def _merged(moves: Sequence[Move]) -> tuple[Move, ...]:
    """Neighbours that move by the same distance, as one."""
    merged: list[Move] = []
    for move in moves:
        last = merged[-1] if merged else None
        if last and (last.source + last.n_tokens, last.target + last.n_tokens) == (move.source, move.target):
            merged[-1] = Move(last.source, last.target, last.n_tokens + move.n_tokens)
        else:
            merged.append(move)
    return tuple(merged)
