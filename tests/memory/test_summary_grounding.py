"""A model's summary before it is believed: sound or not, said or invented."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.memory.summary import request
from chatkv.memory.summary.grounding import grounded, judged, sources

USER = [
    "I am planning a week in Lisbon in May with my sister Nadia. We land on the 4th at 09:40.",
    "Nadia does not eat fish. Our budget is 1,450 euros for two people without the flight.",
]
ANSWER = "You could walk along the river and visit the tiled church on the hill before dinner."
SAID = sources(USER, [ANSWER])
GERMAN = sources(
    [
        "Ich plane eine Reise nach Lissabon mit meiner Schwester Nadia. Wir landen am Vormittag in der Stadt.",
        "Das Hotel liegt in der Altstadt. Meine Schwester isst keinen Fisch. Wir haben ein Budget von 1450 Euro.",
        "Am Abend wollen wir in ein Restaurant mit Musik und am Morgen auf einen Markt mit Obst und Brot gehen.",
    ]
)
ASK = request("", limit_words=80)
GOOD = (
    "Trip to Lisbon with sister Nadia in May.\nBudget: 1,450 euros for two people.\nNadia does not eat fish."
)


def test_a_sound_summary_is_taken_whole() -> None:
    verdict = judged(GOOD, SAID, ASK)
    assert verdict.lines == tuple(GOOD.splitlines())
    assert (verdict.share, verdict.reason) == (1.0, "")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "empty"),
        (" \n ** -- \n", "empty"),
        ("<|im_start|>assistant\nNadia does not eat fish.", "role tags"),
        ("Nadia does not eat fish.<|im_end|>", "role tags"),
        ("[INST] Nadia [/INST]", "role tags"),
        ("User: I am planning a week in Lisbon.\nAssistant: Nadia does not eat fish.", "role tags"),
        ("```python\nbudget = 1450\n```", "code"),
        ("{{{{}}}} ;;;; #### @@@@ Nadia $$$$ %%%%", "garbage"),
        ("I'm so sorry to hear about it. " * 10, "repeats itself"),
        ("- Nadia\n- Lisbon\n" * 4, "repeats itself"),
        (ASK, "echoes"),
        (f"{ASK} Nadia.", "echoes"),
        ("The user is called Peter and has three cats.", "nothing in it was said"),
        ("Here is a summary of our conversation:", "nothing in it was said"),
        (ANSWER, "nothing in it was said"),
        ("Facts:\nDecisions:\nDates:", "nothing in it was said"),
    ],
)
def test_what_is_no_summary_is_refused_with_a_reason(raw: str, reason: str) -> None:
    verdict = judged(raw, SAID, ASK)
    assert verdict.lines == ()
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("sentence", "true"),
    [
        ("Nadia does not eat fish.", True),
        ("The user's sister Nadia is part of the trip to Lisbon.", True),
        ("The budget is 1450 euros for 2 people.", True),
        ("The budget is 1,540 euros for two people.", False),
        ("They land at 9:40 on the 4th.", True),
        ("They land at 9:40 on the 5th.", False),
        ("They land at 9:04 on the 4th.", False),
        ("They land in Lisbon in June.", False),
        ("Nadia's brother Peter does not eat fish.", False),
        ("Peter likes fish with Nadia.", False),
        ("Budget, week and flight.", True),
        ("A software engineer writes programs for banks.", False),
    ],
)
def test_grounded(sentence: str, true: bool) -> None:
    assert grounded(sentence, SAID) is true


def test_in_german_a_capital_is_no_name_but_a_number_is_a_number() -> None:
    assert grounded("Die Schwester Nadia isst im Restaurant keinen Fisch beim Abendessen.", GERMAN)
    assert not grounded("Das Budget liegt bei 1540 Euro.", GERMAN)


def test_invented_sentences_go_and_the_share_says_how_much() -> None:
    verdict = judged(f"{GOOD}\nThey stay at the Hotel Bristol with uncle Robert for 900 euros.", SAID, ASK)
    assert verdict.lines == tuple(GOOD.splitlines())
    assert 0.5 < verdict.share < 0.9


def test_markdown_and_headings_are_folded_into_lines() -> None:
    raw = "## Summary\n**Names:**\n- Nadia\n- Lisbon\n**Decisions:**\n1. None\n2. Budget of 1,450 euros"
    assert judged(raw, SAID, ASK).lines == ("Names: Nadia; Lisbon", "Decisions: Budget of 1,450 euros")


def test_a_sentence_cut_off_at_the_end_goes() -> None:
    raw = "Nadia does not eat fish. The budget is 1,450 euros. They land on the"
    assert judged(raw, SAID, ASK).lines == ("Nadia does not eat fish. The budget is 1,450 euros.",)


@given(st.text(max_size=300), st.lists(st.text(max_size=100), max_size=3))
def test_any_text_gets_a_verdict(raw: str, said: list[str]) -> None:
    verdict = judged(raw, sources(said, said), ASK)
    assert bool(verdict.lines) != bool(verdict.reason)
    assert 0 <= verdict.share <= 1
