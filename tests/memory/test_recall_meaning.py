"""Words that mean alike find each other; what asks, and what is about something else, stays behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from chatkv.memory.recall import Archive, Meaning, Passage
from chatkv.memory.recall.answers import kinds_in, stated, wanted

GROUPS = (("dentist", "teeth"), ("lending", "borrow", "loan"), ("shop", "business"))
LONERS = [f"word{n}" for n in range(600)]
WORDS = [word for group in GROUPS for word in group] + LONERS
DIM = 256


def table() -> NDArray[np.float32]:
    """Vectors that differ mostly in two ways that say nothing, as those of real models do; a group shares a part."""
    draw = np.random.default_rng(5)
    rows = draw.standard_normal((len(WORDS), DIM))
    at = 0
    for group in GROUPS:
        rows[at : at + len(group)] = rows[at : at + len(group)] + 1.5 * draw.standard_normal(DIM)
        at += len(group)
    rows += 8 * draw.standard_normal((len(WORDS), 2)) @ draw.standard_normal((2, DIM))
    return np.asarray(rows + 10 * draw.standard_normal(DIM), np.float32)


def encode(text: str) -> Sequence[int]:
    word = text.strip()
    return [WORDS.index(word)] if word in WORDS else [8, 9]


@pytest.fixture(scope="module")
def meaning() -> Meaning:
    rows = table()
    return Meaning(lambda ids: rows[list(ids)], len(rows), encode)


def count(text: str) -> int:
    return len(text.split())


def archive(meaning: Meaning | None, *said: str) -> Archive:
    found = Archive(meaning)
    filler = [f"Please explain {LONERS[n]} and {LONERS[n + 30]} to me." for n in range(30)]
    said = tuple(part for text in said for part in (text, *filler[20:26]))
    texts = [*filler[:15], *said, *filler[15:]]
    found.update([Passage(n, n, "user", text) for n, text in enumerate(texts, 1)])
    return found


def recalled(archive: Archive, question: str, budget: int = 40) -> str:
    return archive.search(question, exclude=(), budget=budget, count=count).text


def test_kin_are_more_alike_than_any_two_words(meaning: Meaning) -> None:
    alike = meaning.vectors(WORDS) @ meaning.vectors(WORDS).T
    for group in GROUPS:
        places = [WORDS.index(word) for word in group]
        assert alike[np.ix_(places, places)].min() > meaning.kin_from
    loners = alike[-600:, -600:][np.triu_indices(600, 1)]
    assert (loners > meaning.kin_from).mean() < 0.001


def test_a_word_of_several_tokens_has_no_kin(meaning: Meaning) -> None:
    one, spelled = meaning.vectors(["teeth", "speichenluft"])
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-5)
    assert not spelled.any()


def test_a_question_in_other_words_finds_the_statement(meaning: Meaning) -> None:
    said = ("The dentist expects me on 26 November.", "My brother is lending me 45,000 kroner.")
    with_it, without = archive(meaning, *said), archive(None, *said)
    for question, fact in (("Who looks at teeth?", "26 November"), ("How large is the loan?", "45,000")):
        assert fact in recalled(with_it, question)
        assert fact not in recalled(without, question)


def test_the_same_word_counts_for_more_than_its_kin(meaning: Meaning) -> None:
    both = archive(meaning, "The shop is painted ochre.", "The business is insured.")
    assert recalled(both, "Tell me of the business", 14).endswith("User: The business is insured.")
    assert recalled(both, "Tell me of the shop", 14).endswith("User: The shop is painted ochre.")


def test_new_words_are_learned_as_they_come(meaning: Meaning) -> None:
    growing = archive(meaning, "Nothing of note.")
    assert recalled(growing, "Who looks at my teeth?") == ""
    growing.update([Passage(n, n, "user", f"Say {word}.") for n, word in enumerate(LONERS, 1)])
    growing.update([Passage(9000, 1, "user", "The dentist is called Quist.")])
    assert "Quist" in recalled(growing, "Who looks at my teeth?")


def test_little_room_is_not_spent_on_requests() -> None:
    said = "The rent is 8,600 kroner. How much is that over a year?"
    assert recalled(archive(None, said), "What is the rent?", 40).endswith("User: The rent is 8,600 kroner.")
    assert said in recalled(archive(None, said), "What is the rent?", 500)


def test_another_subject_recalls_nothing() -> None:
    held = archive(None, "In Lisbon we stay at a hotel near the river, and the list of sights is long.")
    long = (
        "Write a Python function that sorts the list of pairs by value, groups them and returns a dictionary."
    )
    assert recalled(held, long, 200) == ""
    assert "near the river" in recalled(held, "Which hotel in Lisbon?", 200)


@pytest.mark.parametrize(
    ("question", "kind", "holding", "not_holding"),
    [
        ("How much is the rent?", "number", "It is 9,250.", "It is high."),
        ("When does school start?", "date", "It starts on Monday.", "It starts soon."),
        ("Who has the key?", "name", "It is with Yusuf.", "It is with the baker."),
        ("Tell me more.", None, "", ""),
    ],
)
def test_what_a_question_asks_for(question: str, kind: str | None, holding: str, not_holding: str) -> None:
    assert wanted(question) == kind
    assert kind is None or (kind in kinds_in(holding) and kind not in kinds_in(not_holding))


def test_what_a_text_states() -> None:
    assert stated("I drive a Berlingo. Is that old? Write it down.") == "I drive a Berlingo."
    assert stated("Can you explain hub gears?") == ""
