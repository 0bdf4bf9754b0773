"""A newer statement against an older one: mended, dropped, or kept only together with what corrects it."""

from __future__ import annotations

import pytest

from chatkv.memory.summary.extract import Source, Statement, read
from chatkv.memory.summary.settling import settle
from chatkv.memory.summary.text import names


def said(*turns: str, first: Source = "user") -> list[Statement]:
    """What stands after the turns, the first of which is text of kind `first`."""
    known = names("\n".join(turns))
    found: list[Statement] = []
    for index, turn in enumerate(turns):
        source: Source = "user" if index else first
        found += read(turn, turn=index, place=len(found), source=source, known=known)
    return settle(found)


def standing(*turns: str) -> str:
    return " | ".join(one.text for one in said(*turns))


@pytest.mark.parametrize(
    ("old", "new", "mended"),
    [
        (
            "She starts school on August 12.",
            "Sorry: school starts on the 19th, not on the 12th.",
            "on August 19th",
        ),
        (
            "The tour costs 2,780 euros.",
            "I gave you a wrong price. They wrote 3,140, not 2,780.",
            "costs 3,140 euros",
        ),
        (
            "My dentist Dr. Quist sees me at 8:15.",
            "The dentist moved me to 14:40 instead of 8:15.",
            "me at 14:40",
        ),
        (
            "My helper Tobias comes on Thursdays.",
            "He can't do Thursdays any more, from now on Mondays.",
            "on Mondays",
        ),
        (
            "Order with number KB-20871.",
            "Forget KB-20871. My customer number is RX-5519.",
            "with number RX-5519",
        ),
        (
            "Mother is coming on October 3.",
            "Plans have changed: mum is coming on October 10 instead.",
            "on October 10",
        ),
        (
            "My flight lands at 7:20 on Sunday.",
            "I looked again and the flight actually lands at 8:05.",
            "at 8:05 on Sunday",
        ),
        (
            "The interview is on 14 March in Delft.",
            "They rescheduled my interview, it's on 21 March.",
            "21 March in Delft",
        ),
        ("Tickets cost 45 euros each.", "I misread it, tickets are 54 euros each.", "cost 54 euros"),
        ("Mein Zug fährt um 8:15.", "Nein, der Zug fährt doch um 8:45, nicht um 8:15.", "um 8:45"),
    ],
)
def test_a_value_taken_back_by_name_is_replaced(old: str, new: str, mended: str) -> None:
    assert mended in standing(old, new).partition(" | ")[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "My favourite colour is racing green.",
            "I have gone off racing green. These days I prefer mustard.",
        ),
        ("The rent is 8,600 a month.", "A correction about the rent: it is 9,250 a month."),
        ("My dentist is Quist, you know.", "My dentist is Falk."),
        ("We have decided on petrol blue.", "Scratch the petrol blue: we are going with ochre after all."),
        ("The landlord is Mr. Overgaard.", "My landlord has sold it, the new one is Mrs. Damgaard."),
        ("I drink coffee all day.", "I no longer drink coffee, I switched to tea."),
        ("My boss is called Henrik Strand.", "Henrik left the company, my new boss is Paula Vance."),
        ("I drink my coffee with milk.", "I stopped taking milk in my coffee."),
        ("My favourite colour is green.", "My favourite colour these days is teal."),
        ("Please call me Bob.", "Please call me Robert from now on."),
        ("We meet at the Golden Lion.", "Change of plan: we meet at the Red Fox instead."),
    ],
)
def test_what_says_nothing_else_is_dropped(old: str, new: str) -> None:
    assert len(said(old, new)) == 1
    assert standing(old, new).endswith(said(new)[-1].text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "The landlord is Mr. Overgaard, he never picks up the phone and answers letters.",
            "My landlord has sold it, the new one is Mrs. Damgaard.",
        ),
        (
            "Our soloist is Leocadia, she gets 260 euros.",
            "It turns out Leocadia is ill. Marguerite sings the solo.",
        ),
        ("We rehearse on Tuesdays in the mill with Jo.", "We rehearse on Fridays now."),
        ("I weigh 82 kilos and want to lose some.", "Good news, I weigh 77 kilos now."),
        ("I sing alto in Nightjars, there are 34 of us.", "We lost a few people, so we are 31 now."),
    ],
)
def test_where_something_else_would_be_lost_both_stand_together(old: str, new: str) -> None:
    older, newer = said(old, new)
    assert older.needs == {newer.place}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "My daughter Signe goes to kindergarten.",
            "At the playground my daughter met Mikkeline, her best friend now.",
        ),
        (
            "The shop is insured with Tryghold for 412 kroner.",
            "I have an accountant now, Birgitte, for 3,200 kroner.",
        ),
        ("My sister is Nadia.", "My sister is 34."),
        ("My favourite colour for a frame is green.", "My favourite colour for a wall is white."),
        ("My brother Tom is 34.", "My cousin Ana is 31."),
        ("The wall is 3.45 metres wide.", "A correction about the rent: it is 9,250 a month."),
        ("My train leaves at 8:00.", "When does my train leave, actually?"),
    ],
)
def test_other_facts_are_left_alone(old: str, new: str) -> None:
    first = said(old)[0]
    assert first in said(old, new)


def test_a_person_s_summary_is_never_changed_but_must_not_stand_alone() -> None:
    edited, newer = said("The tour costs 2,780 euros.", "They wrote 3,140, not 2,780.", first="edited")
    assert edited.text == "The tour costs 2,780 euros."
    assert edited.needs == {newer.place}


def test_what_knows_the_new_value_already_is_left_alone() -> None:
    first = "The coach costs €3,140 (corrected from €2,780)."
    assert standing(first, "They wrote 3,140, not 2,780.").startswith(first)


def test_the_newest_of_three_wins() -> None:
    text = standing(
        "The party is on June 5.",
        "The party is on June 6, not June 5.",
        "Correction: the party is on June 7.",
    )
    assert "June 7" in text
    assert "June 6" not in text
