"""An earlier fact never comes back without its correction, and where only one has room, it is the correction."""

from __future__ import annotations

import random

import pytest

from chatkv.memory.recall import Archive, Passage

CHANGES = {
    "What is my dog called?": ("My dog is called Rex.", "Correction: my dog's name is Max, not Rex."),
    "Where do I live?": ("I live in Berlin.", "I moved to Munich last month."),
    "What's my favorite color?": (
        "My favourite colour is blue.",
        "I like green better than blue as a colour now.",
    ),
    "When is the meeting with Dr. Hansen?": (
        "Our meeting with Dr. Hansen is on Tuesday at 3 pm.",
        "The meeting with Dr. Hansen was moved to Friday at 10 am.",
    ),
    "How much is the budget for the kitchen?": (
        "The budget for the kitchen is 12,000 euros.",
        "Actually the kitchen budget is only 9,500 euros.",
    ),
    "Where does my sister Anna work?": ("My sister Anna works at Siemens.", "Anna has a new job at Bosch."),
    "What is my flight number?": (
        "My flight number is LH 442.",
        "They rebooked me: the flight is now UA 907.",
    ),
    "What car do I drive?": ("I drive a red Volvo.", "I sold the Volvo and bought a Tesla."),
    "我的猫叫什么名字?": ("我的猫叫小白。", "更正:我的猫叫小黑,不叫小白。"),
}
CHAINS = {
    "When is our meeting?": (
        "Our meeting is on Tuesday.",
        "The meeting was moved to Friday.",
        "The meeting moved again, it is on Monday now.",
    ),
    "Where do I work?": (
        "I work at Siemens.",
        "I have a new job at Bosch.",
        "I quit Bosch and joined Airbus.",
    ),
}
CHATTER = (
    "How do I centre a div?",
    "Explain how vaccines work.",
    "Write a haiku about autumn.",
    "I slept well.",
)
ANSWERS = ("Of course. It depends on a few things.", "Great question!", "Noted, thanks for telling me.")


def count(text: str) -> int:
    return len(text.encode()) // 4 + 1


def talk(said: dict[int, str], turns: int = 72) -> list[Passage]:
    draw = random.Random(len(said))
    lines = [(said.get(turn, draw.choice(CHATTER)), draw.choice(ANSWERS)) for turn in range(turns)]
    return [
        Passage(2 * turn + n, turn + 1, ("user", "assistant")[n - 1], text)
        for turn, pair in enumerate(lines)
        for n, text in enumerate(pair, 1)
    ]


def block(passages: list[Passage], question: str, budget: int, exclude: frozenset[int] = frozenset()) -> str:
    archive = Archive()
    archive.update(passages)
    return archive.search(question, exclude=exclude, budget=budget, count=count).text


@pytest.mark.parametrize("budget", [1024, 200, 60])
@pytest.mark.parametrize("question", CHANGES)
def test_the_newer_statement_comes_along(question: str, budget: int) -> None:
    said = {}
    for n, (_, pair) in enumerate(CHANGES.items()):
        said.update({2 + 3 * n: pair[0], 40 + 3 * n: pair[1]})
    text = block(talk(said), question, budget)
    older, newer = CHANGES[question]
    assert newer in text
    assert older not in text or text.index(older) < text.index(newer)


@pytest.mark.parametrize("budget", [1024, 120])
@pytest.mark.parametrize("question", CHAINS)
def test_the_newest_of_several_comes_along(question: str, budget: int) -> None:
    said = dict(zip((5, 30, 60), CHAINS[question], strict=True))
    assert CHAINS[question][-1] in block(talk(said), question, budget)


def test_where_one_has_room_it_is_the_newer() -> None:
    older, newer = CHANGES["What is my dog called?"]
    for budget in range(80):
        text = block(talk({5: older, 60: newer}), "What is my dog called?", budget)
        assert newer in text or older not in text
    assert newer in text
    assert older in text


def test_a_correction_in_the_context_needs_no_recall() -> None:
    older, newer = CHANGES["What is my dog called?"]
    text = block(talk({5: older, 60: newer}), "What is my dog called?", 300, frozenset([121]))
    assert older in text
    assert newer not in text
