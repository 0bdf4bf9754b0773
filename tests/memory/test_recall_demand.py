"""How much is recalled for what kind of message: all there is room for, for who asks back; else little or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.memory.recall import Archive, Found, Passage
from chatkv.memory.recall.demand import asks_back

TRIP = (
    ("We land in Lisbon on the 4th at 09:40, my sister Nadia and I.", "Lovely, Lisbon is warm in May."),
    ("Nadia does not eat fish or shellfish.", "She could order grilled chicken with rice."),
    ("Our hotel is at Rua das Flores 27 and breakfast ends at 10.", "Tram 15 leaves near the hotel."),
    ("On the 6th we go to Sintra. Which shoes are good for it?", "For Sintra wear sturdy shoes."),
    ("The ferry to Cacilhas at sunset costs almost nothing.", "Walk along the quay after the ferry."),
    ("Write a postcard to our grandmother.", "Dear Grandma, greetings from the ferry, Nadia sends her love."),
    ("The flight home leaves at 18:25.", "Then be at the airport in Lisbon at 16:25."),
    ("Nadia wants to see the palace of Sintra at sunset.", "The palace closes at 18:00."),
)
ASKING = (
    "Back to the trip: which day are we going to Sintra, and what did we say about shoes?",
    "Remind me: what does Nadia not eat?",
    "What is my sister's phone number?",
    "what's my dog's name",
    "List all dates and times that I told you in this conversation.",
    "Can you tell me again which ferry we take?",
    "I forgot which hotel we booked.",
    "Thanks, that helps. And what was the price again?",
    "We have a concert soon. How many singers are in our choir?",
    "Tell me everything you know about my sister.",
    "Who leads the choir?",
    "When does the flight land?",
    "Is Nadia allergic to anything?",
    "Does Tom eat meat?",
    "Why did we cancel the first hotel?",
    "Why is Nadia late?",
    "hotel address",
    "Quel est le nom de mon chien ?",
    "Wie heißt meine Schwester?",
    "我的猫叫什么名字？",
)
NOT_ASKING = (
    "Write a postcard to our grandmother, about sixty words, from both of us.",
    "What could go wrong on that day, and what would you do about it?",
    "Nadia wants to learn ten words of Portuguese. Choose the ten most useful ones.",
    "Plan a dinner for Nadia.",
    "Shorter, please. Two sentences.",
    "Translate this into German: where is the station?",
    "How do I get wine stains out of a shirt?",
    "What is the difference between a palace and a castle?",
    "Why is the sky blue?",
    "Can you write a regular expression that matches dates?",
    "Which laptop would you buy?",
    "My brother is called Jeppe and he lives in Bergen.",
    "The rent is 8,600 kroner a month at present. How much is that over a year?",
    "Sorry, I told you the wrong price earlier. It is 400.",
    "What games can you play with a child on a ferry?",
    "Thanks!",
)


def count(text: str) -> int:
    return len(text.encode()) // 4 + 1


def archive(rounds: tuple[tuple[str, str], ...] = TRIP, *documents: str) -> Archive:
    passages = [
        Passage(2 * turn + n, turn, ("user", "assistant")[n - 1], text)
        for turn, pair in enumerate(rounds, 1)
        for n, text in enumerate(pair, 1)
    ]
    passages += [Passage(-n, 0, "document", text, "lease.txt") for n, text in enumerate(documents, 1)]
    found = Archive()
    found.update(passages)
    return found


def recalled(message: str, budget: int = 272, *, by_hand: bool = False) -> Found:
    return archive().search(message, exclude=(), budget=budget, count=count, by_hand=by_hand)


@pytest.mark.parametrize("message", ASKING)
def test_a_message_asks_back(message: str) -> None:
    assert asks_back(message)


@pytest.mark.parametrize("message", NOT_ASKING)
def test_a_message_does_not_ask_back(message: str) -> None:
    assert not asks_back(message)


def test_who_asks_back_gets_the_room() -> None:
    text = recalled(
        "Back to the trip: which day are we going to Sintra, and what did we say about shoes?"
    ).text
    assert "On the 6th we go to Sintra." in text
    assert "sturdy shoes" in text
    assert "shellfish" in recalled("Remind me: what does Nadia not eat?").text


def test_a_task_recalls_what_it_names_and_little_else() -> None:
    found = recalled("Suggest what Nadia could eat for dinner.")
    assert "Nadia does not eat fish or shellfish." in found.text
    assert found.tokens <= 272 // 4
    assert recalled("What did I tell you about Nadia?").tokens > found.tokens


@pytest.mark.parametrize(
    "message",
    [
        "Write a postcard to our grandmother, about sixty words, from both of us.",
        "What could go wrong on that day, and what would you do about it?",
    ],
)
def test_a_task_about_nothing_told_recalls_nothing(message: str) -> None:
    assert recalled(message).text == ""
    assert recalled(message, by_hand=True).text


def test_what_a_message_only_repeats_is_not_recalled() -> None:
    told = "Our hotel is at Rua das Flores 27 and breakfast ends at 10."
    assert recalled(f"{told} Is it better to walk?").text.find(told) < 0
    assert told in recalled("Where is our hotel?").text


def test_who_keeps_a_document_gets_the_room_for_tasks_about_it() -> None:
    pieces = [f"Clause {n}: the tenant pays for repairs of part {n} of the roof." for n in range(12)]
    text = "Explain the clauses on repairs of the roof in plain words."
    found = archive(TRIP, *pieces).search(text, exclude=(), budget=272, count=count)
    assert found.tokens > 272 // 2
    assert {stretch.document for stretch in found.rounds} == {"lease.txt"}


def test_much_room_is_not_filled_with_what_scores_low() -> None:
    talk = tuple(
        (f"I met Nadia at place {n}, and we spoke of {'music' if n < 20 else 'weather'}.", "I see.")
        for n in range(120)
    )
    found = archive(talk).search("What music did Nadia speak of?", exclude=(), budget=4000, count=count)
    assert found.text.count("music") == 20
    assert found.text.count("weather") < 20


@given(st.sampled_from(ASKING + NOT_ASKING), st.integers(0, 400))
def test_by_hand_never_finds_less(message: str, budget: int) -> None:
    found, looked_up = recalled(message, budget), recalled(message, budget, by_hand=True)
    assert found.tokens <= budget
    assert looked_up.tokens <= budget
    assert not found.text or looked_up.text
    if asks_back(message):
        assert found == looked_up
    else:
        assert found.tokens <= max(64, budget // 4)
