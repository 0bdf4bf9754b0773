"""Whatever is archived and asked: the budget holds, nothing excluded comes back, order and outcome are fixed."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.memory.recall import Archive, Found, Passage

SPOKEN = "dog Rex name moved Berlin actually blue 14 May Ann: what? 😀 ... 猫 我的猫叫小白 Hund café"
WORDS = st.sampled_from([*re.findall(r"\S+", SPOKEN), "\n", "red " * 90])
TEXTS = st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=40)
TIMES = st.sampled_from([0.0, 1.7e9, 1.7e9 + 3600, 1.71e9])


def words(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


@st.composite
def branches(draw: st.DrawFn, at_least: int = 0) -> list[Passage]:
    """Messages in their order, then pieces of one document."""
    texts = draw(st.lists(TEXTS, min_size=at_least, max_size=14))
    start, step = draw(TIMES), draw(st.sampled_from([0.0, 60.0, 30000.0]))
    said = [
        Passage(n + 1, n // 2 + 1, ("user", "assistant")[n % 2], text, created_at=start + n * step)
        for n, text in enumerate(texts)
    ]
    pieces = draw(st.lists(TEXTS, max_size=3))
    return said + [Passage(-n - 1, 0, "document", text, "notes.txt") for n, text in enumerate(pieces)]


def archive_of(passages: list[Passage]) -> Archive:
    archive = Archive()
    archive.update(passages)
    return archive


def search(archive: Archive, question: str, exclude: frozenset[int] = frozenset(), budget: int = 60) -> Found:
    return archive.search(question, exclude=exclude, budget=budget, count=words)


@given(branches(), TEXTS, st.frozensets(st.integers(-3, 14)), st.integers(0, 200))
def test_budget_exclusion_order_and_repetition(
    passages: list[Passage], question: str, exclude: frozenset[int], budget: int
) -> None:
    archive = archive_of(passages)
    found = search(archive, question, exclude, budget)
    assert found.tokens == words(found.text) <= budget
    assert bool(found.text) == bool(found.rounds)
    order = [passage.key for passage in passages]
    keys = [key for stretch in found.rounds for key in stretch.keys]
    assert exclude.isdisjoint(keys)
    assert all(order.index(a) <= order.index(b) for a, b in pairwise(keys))
    start = 0
    for stretch in found.rounds:
        start = found.text.index(stretch.text, start) + len(stretch.text)
        turns = [passage.turn for passage in passages if passage.key in stretch.keys]
        assert (stretch.first_turn, stretch.last_turn) == (min(turns), max(turns))
        assert stretch.document == ("" if stretch.first_turn else "notes.txt")
    assert search(archive, question, exclude, budget) == found


@settings(max_examples=60)
@given(st.lists(branches(), min_size=1, max_size=5), TEXTS)
def test_updates_add_up_to_a_fresh_build(branches: list[list[Passage]], question: str) -> None:
    grown = Archive()
    for passages in branches:
        grown.update(passages)
        assert search(grown, question) == search(archive_of(passages), question)


@given(branches(at_least=2), TEXTS, st.integers(0, 6), st.integers(1, 9))
def test_what_is_read_ahead_changes_nothing_until_it_is_there(
    passages: list[Passage], question: str, n_here: int, most: int
) -> None:
    here = passages[:n_here]
    archive = archive_of(here)
    read = archive.learn(passages, most)
    assert read == min(most, len(passages) - len(here))
    assert search(archive, question) == search(archive_of(here), question)
    while read == most:
        read = archive.learn(passages, most)
    assert archive.learn(passages, most) == 0
    archive.update(passages)
    assert search(archive, question) == search(archive_of(passages), question)


@given(branches(at_least=2), TEXTS)
def test_a_branch_that_comes_back_is_as_it_was(passages: list[Passage], question: str) -> None:
    archive = archive_of(passages)
    before = search(archive, question)
    archive.update(passages[:1])
    archive.update(passages)
    assert search(archive, question) == before


@given(branches(at_least=1), st.data())
def test_what_is_excluded_lends_nothing_to_what_stands_beside_it(
    passages: list[Passage], data: st.DataObject
) -> None:
    chosen = data.draw(st.sampled_from(passages))
    marked = [
        Passage(p.key, p.turn, p.role, "zebra quagga okapi" if p is chosen else p.text, p.name, p.created_at)
        for p in passages
    ]
    archive = archive_of(marked)
    assert chosen.key in {key for s in search(archive, "zebra quagga", budget=400).rounds for key in s.keys}
    assert search(archive, "zebra quagga", frozenset([chosen.key]), budget=400).text == ""


@pytest.mark.parametrize(
    "question",
    [
        "",
        " ",
        "?!",
        "the of and",
        '"',
        'dog" OR 1=1 --',
        "NEAR(dog name, 3) AND NOT *",
        "\0",
        "\ud800",
        "😀",
        "e\u0301",
    ],
)
def test_odd_questions_are_only_words(question: str) -> None:
    archive = archive_of([Passage(1, 1, "user", "my dog has a name"), Passage(2, 1, "assistant", "Nice.")])
    found = search(archive, question)
    assert ("dog" in found.text) == ("dog" in question)


def test_a_megabyte_of_question_finds_what_its_ends_ask_for() -> None:
    lines = ["I keep a zebra.", *["Nothing here."] * 30]
    talk = [Passage(n, n, "user", line) for n, line in enumerate(lines, 1)]
    padding = " ".join(f"word{n}" for n in range(120_000))
    assert "zebra" in search(archive_of(talk), f"{padding} so what about my zebra?").text
    assert search(archive_of(talk), padding).text == ""


def test_many_switches_of_branch_do_not_pile_up() -> None:
    archive = Archive()
    for n in range(60):
        archive.update([Passage(n * 100 + k, 1, "user", f"word{n} number{k}") for k in range(100)])
    assert "number7" in search(archive, "word59 number7").text
    assert search(archive, "word3").text == ""
    assert len(archive._index._all) < 1300
