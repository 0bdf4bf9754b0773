"""Questions about one's own affairs that share no word with what was said: what the user told is tried."""

from __future__ import annotations

import pytest

from chatkv.memory.recall import Archive, Found, Passage

TOLD = (
    "I drive an old grey Berlingo with 214,000 kilometres on it. When does the belt need changing as a rule?",
    "How do I get coffee stains out of a wooden counter?",
    "I have an accountant now, Birgitte Falk, and she charges 3,200 kroner per quarter.",
    "Explain to a child why the moon changes its shape.",
    "We stay at the Koperen Leeuw in Bruges.",
    "Write a friendly text about the weather.",
)


def count(text: str) -> int:
    return len(text.encode()) // 4 + 1


def asked(question: str, *told: str, exclude: tuple[int, ...] = ()) -> Found:
    passages = [
        Passage(2 * turn + n, turn, ("user", "assistant")[n], (text, "I see, that is good to know.")[n])
        for turn, text in enumerate(told or TOLD, 1)
        for n in (0, 1)
    ]
    archive = Archive()
    archive.update(passages)
    return archive.search(question, exclude=exclude, budget=272, count=count)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What car have I got?", "Berlingo"),
        ("Who does my books?", "Birgitte Falk"),
        ("Where are we sleeping?", "Koperen Leeuw"),
    ],
)
def test_what_the_user_told_is_tried(question: str, answer: str) -> None:
    found = asked(question)
    assert answer in found.text
    assert found.tokens <= 272
    assert "Explain to a child" not in found.text
    assert "When does the belt" not in found.text


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Mongolia?",
        "What happened to us in May 1987?",
        "Write a poem about my car.",
    ],
)
def test_nothing_is_tried_for_what_is_not_asked_of_the_user(question: str) -> None:
    assert not {"Berlingo", "Birgitte", "Leeuw"} & set(asked(question).text.replace(",", "").split())


def test_nothing_is_tried_where_the_words_find_something() -> None:
    assert "Leeuw" not in asked("What does my accountant charge per quarter?").text


def test_nothing_excluded_is_tried() -> None:
    assert "Berlingo" not in asked("What car have I got?", exclude=(2, 3)).text


def test_of_what_changed_the_newer_goes_along() -> None:
    sold = "I have sold the Berlingo, it had 231,000 kilometres; now I drive a Kangoo."
    text = asked("What have I got in the garage?", *TOLD, sold).text
    assert "Kangoo" in text
    assert "Berlingo with 214,000" in text


def test_of_very_many_statements_none_is_tried() -> None:
    many = [f"I met a person called Name{n} in the year {1900 + n}." for n in range(80)]
    assert asked("What car have I got?", *many).text == ""
