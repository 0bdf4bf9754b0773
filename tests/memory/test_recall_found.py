"""What is recalled for whom: rounds with their neighbours, names, dates, other scripts, long answers, documents."""

from __future__ import annotations

import datetime as dt

import pytest

from chatkv.memory.recall import Archive, Found, Passage

CHATTER = (
    ("How do I centre a div?", "Use a flex container and justify its content."),
    ("Explain how vaccines work.", "They show the immune system a harmless part of a germ."),
    (
        "Write a haiku about autumn.",
        "Leaves fall without sound, the pond remembers their red, a heron takes off.",
    ),
    ("What is a good soup for a cold evening?", "Try leek and potato with a little nutmeg."),
)
FACTS = {
    "My sister Ingrid lives in Trondheim.": "Trondheim sounds lovely.",
    "The invoice number is 48213.": "I have noted the invoice.",
    "Our cat is called Whiskers.": "What a cute cat!",
    "我的猫叫小白。": "好的。",
    "我住在北京的朝阳区。": "明白了。",
    "Mein Fahrrad ist grün.": "Schön!",
    "I was running a marathon in Oslo.": "Well done!",
}


def count(text: str) -> int:
    return len(text.encode()) // 4 + 1


def talk(facts: dict[str, str], gap: int = 8) -> list[Passage]:
    """The facts, each followed by `gap` turns about other things; half an hour from turn to turn."""
    said: list[tuple[str, str]] = []
    for fact, answer in facts.items():
        said += [(fact, answer), *(CHATTER[n % 4] for n in range(gap))]
    start = dt.datetime(2023, 5, 8, 9).timestamp()
    return [
        Passage(2 * turn + n, turn + 1, ("user", "assistant")[n - 1], text, created_at=start + turn * 1800)
        for turn, pair in enumerate(said)
        for n, text in enumerate(pair, 1)
    ]


def found(passages: list[Passage], question: str, budget: int = 150, exclude: tuple[int, ...] = ()) -> Found:
    archive = Archive()
    archive.update(passages)
    return archive.search(question, exclude=exclude, budget=budget, count=count)


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Where does my sister live?", "Trondheim"),
        ("which city is INGRID in?", "Trondheim"),
        ("What was the number on the invoice?", "48213"),
        ("Who is 48213?", "invoice"),
        ("Do you remember the name of our cats?", "Whiskers"),
        ("Who ran marathons?", "Oslo"),
        ("我的猫叫什么名字？", "小白"),
        ("北京", "朝阳区"),
        ("Welche Farbe hat mein Fahrrad?", "grün"),
        ("fahrrad grun", "Fahrrad"),
    ],
)
def test_a_fact_is_found_with_its_answer(question: str, fact: str) -> None:
    block = found(talk(FACTS), question)
    assert fact in block.text
    told, answer = next((told, answer) for told, answer in FACTS.items() if fact in told)
    assert f"User: {told}\nAssistant: {answer}" in block.text
    assert block.text.startswith("Earlier in this conversation:\n[")


@pytest.mark.parametrize(
    "question", ["Thanks!", "What is the capital of Mongolia?", "今天天气怎么样？", "Go on, please."]
)
def test_nothing_is_recalled_for_what_was_never_spoken_of(question: str) -> None:
    assert found(talk(FACTS), question) == Found("", 0, ())


def test_a_single_remembered_turn_is_enough() -> None:
    only = [Passage(1, 1, "user", "I have a dog called Rex."), Passage(2, 1, "assistant", "Hello, Rex!")]
    assert "Rex" in found(only, "What's my dog's name?").text


def test_gaps_and_days_are_marked() -> None:
    passages = talk({"I bought a tandem bicycle.": "Nice.", "The tandem bicycle is blue.": "Lovely."}, gap=30)
    text = found(passages, "What colour is the tandem bicycle?", budget=90).text
    assert "[8 May 2023]\nUser: I bought a tandem bicycle." in text
    assert "[9 May]\n" in text
    assert text.index("[9 May]\n") < text.index("User: The tandem bicycle is blue.")
    untimed = [Passage(p.key, p.turn, p.role, p.text) for p in passages]
    text = found(untimed, "What colour is the tandem bicycle?", budget=60).text
    assert "\n…\n" in text
    assert "[" not in text


def test_a_date_in_the_question_chooses_among_the_like() -> None:
    days = [dt.datetime(2023, 1, 1, 12) + dt.timedelta(days=9 * n) for n in range(30)]
    passages = [
        Passage(n + 1, n + 1, "user", f"Had dinner at place{n}.", created_at=day.timestamp())
        for n, day in enumerate(days)
    ]
    for asked in (
        "Where was dinner on {0.day} {0:%B} 2023?",
        "dinner on {0:%Y-%m-%d}",
        "dinner, {0:%B} {0.day}th",
    ):
        for n in (4, 17):
            block = found(passages, asked.format(days[n]), budget=30)
            assert f"place{n}." in block.text
    assert "place4." in found(passages, "What happened on 6 February 2023?", budget=30).text
    may = found(passages, "Which dinner did we have in May?", budget=60)
    assert may.rounds
    assert {days[key - 1].month for stretch in may.rounds for key in stretch.keys} == {5}


def test_who_is_asked_about_decides_between_equals() -> None:
    lines = ["Ann: I like tea.", "Bob: I like jazz.", "Ann: I like jazz.", "Bob: I like tea."] * 3
    passages = [
        Passage(n, n, ("user", "assistant")[n % 2], line, created_at=n * 1e5)
        for n, line in enumerate(lines, 1)
    ]
    ann = found(passages, "Does Ann like jazz?", budget=25).text
    assert "Ann: I like jazz." in ann
    assert "Bob: I like jazz." not in ann
    assert "User:" not in ann


def test_my_own_words_come_before_the_answers() -> None:
    passages = [Passage(1, 1, "user", "Tulips are good."), Passage(2, 2, "assistant", "Tulips are good.")]
    passages += [Passage(n, n, "user", f"filler{n}") for n in range(3, 30)]
    assert found(passages, "What did I say about tulips?", budget=20).rounds[0].keys == (1,)
    assert found(passages, "What did you say about tulips?", budget=20).rounds[0].keys == (2,)


def test_a_long_answer_is_recalled_in_part() -> None:
    story = " ".join(f"Sentence {n} tells of nothing in particular and goes on a little." for n in range(200))
    middle = story.replace("Sentence 120 tells", "Sentence 120, about the lighthouse, tells")
    passages = [Passage(1, 1, "user", "Tell me a story."), Passage(2, 1, "assistant", middle)]
    block = found(passages, "What was that about a lighthouse?", budget=400)
    assert "lighthouse" in block.text
    assert "Assistant: … " in block.text
    assert block.tokens <= 400
    assert any(stretch.text.removeprefix("Assistant: … ") in middle for stretch in block.rounds)


def test_a_document_is_recalled_by_name() -> None:
    pieces = [
        "Chapter one. The sea.",
        "Chapter two. The lighthouse keeper is Olaf.",
        "Chapter three. The storm.",
    ]
    passages = talk(FACTS)
    passages += [Passage(-n, 0, "document", piece, "novel.txt") for n, piece in enumerate(pieces, 1)]
    block = found(passages, "Who is the lighthouse keeper?", budget=60)
    assert block.text.startswith("From earlier in this conversation and its documents:\n")
    assert "[novel.txt]\n" in block.text
    assert [stretch.document for stretch in block.rounds] == ["novel.txt"]
    assert -2 in block.rounds[0].keys
    assert found(passages, "Who is the lighthouse keeper?", exclude=(-1, -2, -3)).text == ""
