"""Text to sentences, words and marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.memory.summary.text import marks, names, number_key, sentences, stems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("i have a dog. he is called rex.", ["i have a dog.", "he is called rex."]),
        ("Dr. Quist is my dentist. See you.", ["Dr. Quist is my dentist.", "See you."]),
        ("It is 3.45 m wide, e.g. here.", ["It is 3.45 m wide, e.g. here."]),
        ("a line\nanother\n\nthird", ["a line", "another", "third"]),
        ("我叫李明。我住在上海！你呢？", ["我叫李明。", "我住在上海！", "你呢？"]),
        ("  \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(max_size=300))
def test_sentences_lose_nothing_but_space(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("we land at 09:40", [("time", "9:40")]),
        ("we land at 9.40 am", [("time", "9:40")]),
        ("come at 5pm", [("time", "5pm")]),
        ("it costs 1,450 euros", [("money", "1450")]),
        ("it costs $20", [("money", "20")]),
        ("there are 34 of us", [("number", "34")]),
        ("on the 19th", [("day", "19")]),
        ("on October 3", [("month", "oct"), ("day", "3")]),
        ("since 1999", [("year", "1999")]),
        ("the code KB-20871", [("code", "kb-20871")]),
        ("he comes on Mondays", [("weekday", "monday")]),
        ("you may march on", []),
        ("my friend Ana Rui came", [("name", "ana"), ("name", "rui")]),
        ("my friend's name is Ana's", [("name", "ana")]),
        ("I said I'd go", []),
        ("会議は14:30です", [("time", "14:30")]),
    ],
)
def test_marks(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(mark.kind, mark.key) for mark in marks(text)] == expected


def test_a_capital_at_the_beginning_means_a_name_only_if_it_is_known() -> None:
    assert marks("Nadia does not eat fish") == ()
    assert [mark.key for mark in marks("Nadia does not eat fish", frozenset({"nadia"}))] == ["nadia"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met Olga there.", {"olga"}),
        ("Nadia likes fish.", {"nadia"}),
        ("Breakfast is at ten. I like breakfast.", set()),
        ("Write it down. Make it short.", set()),
    ],
)
def test_names(text: str, expected: set[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1,450", "1450", True),
        ("09:40", "9:40", True),
        ("1'450", "1450", True),
        ("3,4", "34", False),
        ("0", "0", True),
    ],
)
def test_number_key(one: str, other: str, same: bool) -> None:
    assert (number_key(one) == number_key(other)) is same


def test_stems_forget_endings_and_function_words() -> None:
    assert stems("She is coming to the school") == stems("he comes to schools")
    assert stems("my mum") == stems("our mother")
    assert stems("the of and") == frozenset()


def test_stems_of_unspaced_text_are_pairs() -> None:
    assert stems("我喜欢茶") == {"我喜", "喜欢", "欢茶"}


@given(st.text(max_size=300))
def test_any_text_has_marks_that_stand_in_it(text: str) -> None:
    for mark in marks(text, names(text)):
        assert mark.surface in text
        assert mark.weight > 0
    assert "" not in stems(text)
