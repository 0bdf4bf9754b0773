"""Which of 8,192 neighbouring messages have a piece, in as few bytes as will do. Knows nothing of SQL.

The first byte names the form: numbers of two bytes each, gaps of one byte each (255: go on by 255 and add the next),
or one bit a message. `packed` takes the shortest.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence, Set
from itertools import accumulate, pairwise

from chatkv.errors import StoreError

BITS = 13
"""A message's number in its shard has so many bits; the rest of its id is the shard's number."""
SIZE = 1 << BITS

_NUMBERS, _GAPS, _MAP = 0, 1, 2
_IS_MAP = bytes((_MAP,))
_STEP = 255
_FEW = 48  # where so few are spread out, gaps are hardly shorter


def packed(ordered: Sequence[int]) -> bytes:
    """A set of numbers below `SIZE`, given in ascending order."""
    shortest = min(2 * len(ordered), SIZE // 8)
    if len(ordered) >= _FEW:
        gaps = _gaps(ordered)
        if len(gaps) < shortest:
            return bytes((_GAPS,)) + gaps
    if shortest < SIZE // 8:
        numbers = array("H", ordered)
        if sys.byteorder == "big":
            numbers.byteswap()
        return bytes((_NUMBERS,)) + numbers.tobytes()
    bits = bytearray(SIZE // 8)
    for place in ordered:
        bits[place >> 3] |= 1 << (place & 7)
    return bytes((_MAP,)) + bits


def unpacked(data: bytes) -> list[int]:
    """The numbers of a set, ascending. Raises `StoreError` for what `packed` did not make."""
    form, body = data[0] if data else -1, data[1:]
    if form == _NUMBERS:
        numbers = array("H", body)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tolist()
    if form == _GAPS:
        sums = accumulate(body)
        return [place for gap, place in zip(body, sums, strict=True) if gap != _STEP]
    if form == _MAP:
        return _set_bits(int.from_bytes(body, "little"))
    raise StoreError(
        "The search index of the database is damaged.",
        "Conversations can be read all the same: export them, or restore a backup.",
    )


def without(data: bytes, places: Set[int]) -> bytes:
    """The set less `places`; empty bytes if nothing is left."""
    if data[:1] != _IS_MAP:
        left = [place for place in unpacked(data) if place not in places]
        return packed(left) if left else b""
    bits = bytearray(data)
    for place in places:
        bits[1 + (place >> 3)] &= ~(1 << (place & 7)) & 0xFF
    return bytes(bits) if any(bits[1:]) else b""


def common(sets: Sequence[bytes]) -> list[int]:
    """The numbers that all of the sets have, ascending."""
    maps = [data for data in sets if data[:1] == _IS_MAP]
    others = sorted((data for data in sets if data[:1] != _IS_MAP), key=len)
    if not others:
        bits = int.from_bytes(maps[0][1:], "little")
        for data in maps[1:]:
            bits &= int.from_bytes(data[1:], "little")
        return _set_bits(bits)
    left = set(unpacked(others[0]))
    for data in others[1:]:
        if not left:
            return []
        left.intersection_update(unpacked(data))
    return sorted(place for place in left if all(data[1 + (place >> 3)] >> (place & 7) & 1 for data in maps))


def _gaps(ordered: Sequence[int]) -> bytes:
    gaps = [place - before for before, place in pairwise((0, *ordered))]
    if max(gaps) < _STEP:
        return bytes(gaps)
    return b"".join(bytes((_STEP,)) * (gap // _STEP) + bytes((gap % _STEP,)) for gap in gaps)


def _set_bits(bits: int) -> list[int]:
    text = f"{bits:b}"[::-1]
    places, at = [], text.find("1")
    while at >= 0:
        places.append(at)
        at = text.find("1", at + 1)
    return places
