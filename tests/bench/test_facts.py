"""Planted facts: both sets are sound, and a value is found where it stands and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatkv.bench.facts import PLANTED, Fact, Planted, Superseded, holds, load, verdict
from chatkv.errors import UsageError

SECOND = Path(__file__).parents[1] / "memory" / "facts_two.json"
SETS = pytest.mark.parametrize("planted", [load(PLANTED), load(SECOND)], ids=["first", "second"])
RENT = Fact(3, "number", "What is the rent?", ("9,250",), (Superseded(1, ("8,600", "8.6 thousand")),))


def test_the_sets_are_as_large_as_they_claim() -> None:
    first, second = load(), load(SECOND)
    assert (len(first.turns), len(first.facts)) == (72, 40)
    assert (len(second.turns), len(second.facts)) == (40, 20)
    assert sum(bool(fact.superseded) for fact in first.facts) >= 8
    assert sum(bool(fact.superseded) for fact in second.facts) >= 4
    assert all(2 <= fact.turn <= 66 for fact in first.facts)
    assert {fact.kind for fact in first.facts} >= {"name", "number", "date", "preference", "decision"}


@SETS
def test_a_value_stands_in_its_own_turn_and_in_no_other(planted: Planted) -> None:
    for fact in planted.facts:
        assert any(holds(planted.turns[fact.turn - 1], value) for value in fact.values), fact
        for number, text in enumerate([planted.system, *planted.turns]):
            assert number == fact.turn or not any(holds(text, value) for value in fact.values), (fact, number)


@SETS
def test_a_superseded_value_stands_only_before_and_in_its_correction(planted: Planted) -> None:
    for fact in planted.facts:
        for old in fact.superseded:
            assert old.turn < fact.turn
            places = {
                n
                for n, text in enumerate(planted.turns, 1)
                if any(holds(text, value) for value in old.values)
            }
            assert old.turn in places, old
            assert places <= {old.turn, fact.turn}, old


@SETS
def test_a_question_does_not_give_its_answer_away(planted: Planted) -> None:
    for fact in planted.facts:
        spellings = [*fact.values, *(value for old in fact.superseded for value in old.values)]
        assert not any(holds(fact.question, value) for value in spellings), fact
        assert fact.question not in planted.turns


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("My dog is called REX.", "Rex", True),
        ("The tyrexes are here", "Rex", False),
        ("it costs 1,450 euros", "1450", True),
        ("it costs 1450 euros", "1,450", True),
        ("it costs 1\u202f450 euros", "1,450", True),
        ("it costs 11,450 euros", "1,450", False),
        ("it costs 1,450,000 euros", "1,450", False),
        ("from 8:45 on", "45", False),
        ("3.45 metres", "45", False),
        ("exactly 45.", "45", True),
        ("on the 19th, not the 12th", "19th", True),
        ("9 February", "February 9", False),
        ("Thelonious\n Monk", "thelonious monk", True),
        ("我住在东京。", "东京", True),
        ("anything", "", False),
    ],
)
def test_holds(text: str, value: str, found: bool) -> None:
    assert holds(text, value) is found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The rent is 9250 now.", "held"),
        ("It was 8,600, it is 9,250 now.", "held"),
        ("The rent is 8600.", "only superseded"),
        ("The rent is 8.6 thousand.", "only superseded"),
        ("The rent went up.", "missing"),
    ],
)
def test_verdict(text: str, expected: str) -> None:
    assert verdict(text, RENT) == expected


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("not json", "is not a set of planted facts"),
        ('{"turns": ["a"]}', "'facts'"),
        ('["a"]', "is not a set of planted facts"),
        (
            json.dumps({"turns": ["a"], "facts": [{"turn": 2, "kind": "k", "question": "q", "value": "v"}]}),
            "turn 2",
        ),
        (json.dumps({"turns": ["a"], "facts": [{"turn": 1, "kind": "k", "question": "q"}]}), "'value'"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, content: str, named: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"broken\.json") as raised:
        load(file)
    assert named in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.json"):
        load(tmp_path / "nowhere.json")
