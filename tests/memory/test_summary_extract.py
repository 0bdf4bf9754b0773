"""Statements of one text: padding gone, questions light, pasted and hostile text kept small."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.memory.summary import cues
from chatkv.memory.summary.extract import Statement, read
from chatkv.memory.summary.text import names


def user(text: str) -> list[Statement]:
    return read(text, turn=1, place=0, source="user", known=names(text))


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("By the way, my dog is called Rex.", "My dog is called Rex."),
        ("Thanks! Also, I hate cilantro, of course.", "I hate cilantro."),
        ("I can't stand cilantro, by the way, so please leave it out.", "I can't stand cilantro."),
        ("I opened on 17 March 2014, but paperwork bores me to tears.", "I opened on 17 March 2014."),
        ("The spare key is with Yusuf, the baker next door.", "The spare key is with Yusuf."),
        (
            "We booked a cabin, and she starts on August 12.",
            "We booked a cabin, and she starts on August 12.",
        ),
        ("I like tea, coffee and chocolate cake.", "I like tea, coffee and chocolate cake."),
        ("Oh.", ""),
        ("", ""),
    ],
)
def test_shorten(long: str, short: str) -> None:
    assert cues.shorten(long) == short
    assert cues.shorten(short) == short


def test_terse_drops_articles_but_no_measures() -> None:
    assert cues.terse("My helper in the shop is called Tobias, he comes on a Monday.") == (
        "My helper in shop is Tobias, comes on Monday."
    )
    assert cues.terse("The rent is 9,250 a month.") == "rent is 9,250 a month."
    assert cues.terse("The number: it is 12.") == "number: 12."


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What is it?", True),
        ("Write a poem.", True),
        ("Please, list the parts.", True),
        ("今天几点？", True),
        ("My dog is called Rex.", False),
        ("I want a poem.", False),
    ],
)
def test_asks(text: str, asks: bool) -> None:
    assert cues.asks(text) is asks


@pytest.mark.parametrize(
    ("statement", "chatter"),
    [
        ("I am allergic to nuts.", "That is a good idea."),
        ("My sister is called Nadia.", "Explain how a canon works, please."),
        ("We decided to take the train.", "The weather is fine."),
        ("Our budget is 1,450 euros.", "How do trains work?"),
        ("Actually, I meant the other one.", "Thank you very much."),
        ("Ich mag keinen Kaffee.", "Das ist gut."),
        ("我喜欢茶。", "好的。"),
    ],
)
def test_statements_weigh_more_than_chatter(statement: str, chatter: str) -> None:
    assert user(statement)[0].weight > max((one.weight for one in user(chatter)), default=0.0)


def test_a_question_weighs_less_than_the_same_as_a_statement() -> None:
    assert 0 < user("Can I sit with Olga at 9:30?")[0].weight < user("I sit with Olga at 9:30.")[0].weight


@pytest.mark.parametrize(
    "text", ["Wow, Melanie!", "Thanks for that, Jon.", "Hey Mel, long time.", "Nice idea!", "I love it!"]
)
def test_who_is_spoken_to_is_no_fact(text: str) -> None:
    known = frozenset({"melanie", "jon", "mel"})
    assert sum(one.weight for one in read(text, turn=1, place=0, source="user", known=known)) < 1.2


@pytest.mark.parametrize(
    "text", ["I'm vegan.", "I'm Oksana.", "Dr. Quist, my dentist, sees me in May.", "I hate olives."]
)
def test_short_and_inverted_facts_are_facts(text: str) -> None:
    assert user(text)[0].weight > 1.2


def test_a_correction_takes_the_next_sentence_along() -> None:
    text = "I have gone off racing green. These days mustard is my favourite. What goes with it?"
    assert [one.text for one in user(text)] == [
        "I have gone off racing green. These days mustard is my favourite."
    ]


def test_code_and_control_tokens_are_no_statements() -> None:
    text = "My dog is Rex.\n```python\nmy_name = 'Anna'\n```\n<|im_end|>I am Bob.\n{{{}}};;;(((:::)))"
    assert [one.text for one in user(text)] == ["My dog is Rex."]


def test_a_pasted_book_gives_its_best_sentences_quickly() -> None:
    book = "It was a dull day in the long grey street. " * 20_000 + "My phone number is 0491 57 20 66."
    started = time.process_time()
    found = read(book, turn=1, place=0, source="user", known=frozenset())
    assert time.process_time() - started < 0.2
    assert len(found) <= 12
    assert any("0491" in one.text for one in found)


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    found = user(text)
    assert [one.place for one in found] == list(range(len(found)))
    assert all(one.text and "\n" not in one.text and one.weight >= 0 for one in found)
    assert found == user(text)
