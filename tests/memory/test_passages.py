"""Pieces of a text join to the text, keep to their size, and end where a reader would pause."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.memory.passages import cut_passages

TEXTS = st.text(st.sampled_from("ab ,.!?\n。、语言\u00e9😀\t\"'"), max_size=400) | st.text(max_size=200)


def words(text: str) -> int:
    return len(re.findall(r"\S+", text))


def characters(text: str) -> int:
    return len(text)


@given(TEXTS, st.integers(1, 30), st.sampled_from([words, characters, lambda text: len(text.encode())]))
def test_pieces_join_to_the_text_and_keep_to_their_size(
    text: str, size: int, count: Callable[[str], int]
) -> None:
    pieces = cut_passages(text, count, size)
    assert "".join(pieces) == text
    assert all(pieces)
    assert all(count(piece) <= size or len(piece) == 1 for piece in pieces)


@pytest.mark.parametrize(
    ("text", "size", "pieces"),
    [
        ("", 5, []),
        ("one two", 5, ["one two"]),
        ("a b c.\n\nd e f.\n\ng h.", 6, ["a b c.\n\nd e f.\n\n", "g h."]),
        ("a b c. d e f. g h.", 3, ["a b c. ", "d e f. ", "g h."]),
        ('He said "no." Then he left.', 3, ['He said "no." ', "Then he left."]),
        ("a b c, d e f", 3, ["a b c, ", "d e f"]),
        ("a b c d e", 2, ["a b ", "c d ", "e"]),
    ],
)
def test_pieces_end_where_a_reader_would_pause(text: str, size: int, pieces: list[str]) -> None:
    assert cut_passages(text, words, size) == pieces


def test_text_without_spaces() -> None:
    assert cut_passages("我喜欢猫。你喜欢狗。", characters, 5) == ["我喜欢猫。", "你喜欢狗。"]
    assert cut_passages("x" * 10, characters, 4) == ["xxxx", "xxxx", "xx"]


@pytest.mark.parametrize(
    "text",
    ["word " * 200_000, "x" * 1_000_000, "A line.\n" * 125_000, "字" * 330_000],
    ids=["words", "one run", "lines", "Chinese"],
)
def test_a_megabyte_is_counted_a_few_times(text: str) -> None:
    counted = 0

    def count(part: str) -> int:
        nonlocal counted
        counted += len(part)
        return len(part) // 4 + 1

    pieces = cut_passages(text, count, 160)
    assert "".join(pieces) == text
    assert counted < 8 * len(text)
