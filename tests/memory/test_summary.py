"""The words of a summary: what is taken, what is put beside it, what fits, what stays over many compactions."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.bench.facts import Planted, load, verdict
from chatkv.memory.summary import ASKED, SAID, Exchange, Written, request, written

SECOND = Path(__file__).with_name("facts_two.json")
TRIP = [
    Exchange(
        1,
        "I am planning a week in Lisbon with my sister Nadia. We land at 09:40.",
        "Lovely! Walk to the river.",
    ),
    Exchange(2, "Nadia does not eat fish. What could she order?", "She could have soup."),
    Exchange(3, "Our budget is 1,450 euros. Divide it, please.", "Half of it for food."),
]


def count(text: str) -> int:
    """About as many tokens as a usual vocabulary needs."""
    return math.ceil(1.3 * len(text.split()))


def summary(
    raw: str | None = None,
    going: Sequence[Exchange] = TRIP,
    *,
    previous: str = "",
    edited: str = "",
    limit: int = 200,
) -> Written:
    return written(raw, going, previous=previous, edited=edited, limit=limit, count=count)


def compacted(planted: Planted, *, limit: int, every: int, keep: int = 3) -> str:
    """What stands before the model after the whole conversation: the last summary and the last turns."""
    previous, done = "", 0
    while done + every <= len(planted.turns) - keep:
        going = [Exchange(done + n, text, "") for n, text in enumerate(planted.turns[done : done + every], 1)]
        previous, done = summary(None, going, previous=previous, limit=limit).text, done + every
        assert count(previous) <= limit
    return "\n".join([previous, *planted.turns[done:]])


# ── the request ──


def test_the_request_is_short_and_carries_the_user_s_wishes() -> None:
    assert len(request("", limit_words=80).split()) <= 40
    assert "80 words" in request("", limit_words=80)
    assert request("  Keep the recipes. ", limit_words=80).endswith("Keep the recipes.")


# ── what the model wrote ──


def test_a_sound_text_stands_first_and_what_it_lacks_beside_it() -> None:
    result = summary("Trip to Lisbon with sister Nadia, who does not eat fish.")
    assert (result.origin, result.reason) == ("model", "")
    lines = result.text.splitlines()
    assert lines[0] == "Trip to Lisbon with sister Nadia, who does not eat fish."
    said = lines[lines.index(SAID) :]
    assert any("1,450" in line for line in said)
    assert any("09:40" in line for line in said)
    assert not any("Nadia does not eat fish." in line for line in said)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "not asked"),
        ("", "empty"),
        ("Sure! <|im_end|> Lisbon", "role tags"),
        ("I love you. " * 30, "repeats itself"),
        (request("", limit_words=80), "echoes"),
        ("```\nLisbon\n```", "code"),
        ("The user is Peter, a pilot from Oslo.", "nothing in it was said"),
    ],
)
def test_an_unsound_text_is_replaced_by_extraction_with_a_reason(raw: str | None, reason: str) -> None:
    result = summary(raw)
    assert result.origin == "extract"
    assert reason in result.reason
    assert all(value in result.text for value in ("Nadia does not eat fish", "09:40", "1,450", "Lisbon"))


def test_a_superseded_value_in_the_model_s_text_does_not_stand() -> None:
    going = [
        Exchange(1, "My dog is called Max.", "Nice."),
        Exchange(2, "Correction: my dog is called Rex.", "Ah."),
    ]
    result = summary("The user has a dog called Max.", going)
    assert "Rex" in result.text
    assert "Max" not in result.text


def test_a_poor_text_gets_less_room_than_a_good_one() -> None:
    going = [
        Exchange(n, f"My friend number {n} is called Kim{n}x and lives in Town{n}y.", "")
        for n in range(10, 40)
    ]
    sound = "\n".join(f"The user's friend {n} is Kim{n}x in Town{n}y." for n in range(10, 40))
    invented = "\n".join(f"Uncle Robert {n} has {n * 77} horses in Paris and Rome." for n in range(10, 40))
    good, poor = summary(sound, going, limit=120), summary(f"{sound}\n{invented}", going, limit=120)
    assert good.origin == poor.origin == "model"
    notes = [text.text.partition(SAID)[0].count("friend") for text in (good, poor)]
    assert notes[0] > notes[1] > 0
    assert "Robert" not in poor.text


# ── a person's words ──


@given(st.text(max_size=60), st.integers(0, 80), st.sampled_from([None, "Lisbon with Nadia."]))
def test_edited_words_come_first_and_unchanged(edited: str, limit: int, raw: str | None) -> None:
    result = summary(raw, previous=f"{edited}\nUser said:\nMy cat is Tom.", edited=edited, limit=limit)
    assert result.text.startswith(edited)
    assert count(result.text) <= max(limit, count(edited))
    if count(edited) > limit:
        assert result.text == edited


def test_edited_words_survive_ten_compactions_once_each() -> None:
    edited = "  My own notes: *keep* this,\n  exactly.  "
    previous = edited
    for n in range(10):
        going = [Exchange(n, f"My friend in Town{n}x is called Kim{n}y.", "")]
        previous = summary(None, going, previous=previous, edited=edited, limit=150).text
        assert previous.startswith(edited)
        assert previous.count("exactly.") == 1
    assert "Kim0y" in previous


def test_what_corrects_edited_words_comes_with_them_before_all_else() -> None:
    going = [
        Exchange(1, "I hate cilantro. I like tea.", ""),
        Exchange(2, "My dog is called Rex, not Max.", ""),
    ]
    result = summary(None, going, previous="My dog is called Max.", edited="My dog is called Max.", limit=24)
    assert "Rex" in result.text


# ── room and time ──

ANY_TURN = st.builds(Exchange, st.integers(1, 99), st.text(max_size=120), st.text(max_size=40))
PIECES = "My dog is called Rex. Actually, not Max but Anna on May 4 at 9:30; I hate 1,450 teas?"
WORDS = st.sampled_from(PIECES.split())
TALK = st.builds(Exchange, st.integers(1, 99), st.lists(WORDS, max_size=25).map(" ".join), st.just("Yes."))


@settings(deadline=None)
@given(
    st.one_of(st.none(), st.text(max_size=200)),
    st.lists(st.one_of(ANY_TURN, TALK), max_size=6),
    st.one_of(st.text(max_size=100), st.lists(WORDS, max_size=20).map(" ".join)),
    st.integers(0, 90),
)
def test_any_text_fits_the_limit_and_is_the_same_each_time(
    raw: str | None, going: list[Exchange], previous: str, limit: int
) -> None:
    result = summary(raw, going, previous=previous, limit=limit)
    assert count(result.text) <= limit
    assert (result.origin == "extract") == bool(result.reason)
    assert result == summary(raw, going, previous=previous, limit=limit)


@pytest.mark.parametrize("limit", [64, 110, 256, 512])
@pytest.mark.parametrize("file", [None, SECOND], ids=["first", "second"])
def test_a_summary_of_a_summary_is_the_summary(file: Path | None, limit: int) -> None:
    planted = load(file) if file else load()
    once = summary(None, [Exchange(n, text, "") for n, text in enumerate(planted.turns, 1)], limit=limit).text
    assert summary(None, [], previous=once, limit=limit).text == once


def test_sixty_turns_take_little_time() -> None:
    going = [Exchange(n, text, text) for n, text in enumerate(load().turns[:60], 1)]
    summary(None, going, limit=256)
    started = time.process_time()
    summary(None, going, limit=256)
    assert time.process_time() - started < 0.25


def test_a_pasted_book_takes_little_time() -> None:
    book = "It was a dull day in the long grey street of Oslo. " * 20_000
    started = time.process_time()
    result = summary(None, [Exchange(1, book, book), *TRIP])
    assert time.process_time() - started < 2
    assert "1,450" in result.text


@pytest.mark.parametrize(
    "piece",
    [
        "a, b c d, ",
        "so and but ",
        "not x any ",
        "from a to ",
        "please note that ",
        "Ab, ",
        "1.",
        "1,",
        "<|",
        "我不是",
        "((",
        "I am ",
    ],
)
def test_hostile_text_takes_little_time(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    started = time.process_time()
    for raw in (None, text):
        summary(raw, [Exchange(1, text, text), Exchange(2, f"No, {text}", "")], previous=text, limit=100)
    assert time.process_time() - started < 2


# ── what is kept ──


@pytest.mark.parametrize(
    ("file", "limit", "least"),
    [
        (None, 110, 0.25),
        (None, 256, 0.5),
        (None, 512, 0.95),
        (SECOND, 110, 0.45),
        (SECOND, 256, 0.8),
        (SECOND, 512, 0.95),
    ],
)
@pytest.mark.parametrize("every", [5, 8])
def test_planted_facts_survive_ten_compactions_and_never_only_the_old_value(
    file: Path | None, limit: int, least: float, every: int
) -> None:
    planted = load(file) if file else load()
    context = compacted(planted, limit=limit, every=every)
    verdicts = [verdict(context, fact) for fact in planted.facts]
    assert verdicts.count("held") >= least * len(verdicts)
    assert verdicts.count("only superseded") == 0


def test_a_fact_of_the_first_turn_outlives_ten_compactions_of_chatter() -> None:
    previous = summary(None, TRIP[:1], limit=60).text
    for n in range(10):
        going = [Exchange(n, f"Tell me something about subject {n}. I think it could be fun.", "Sure.")]
        previous = summary(None, going, previous=previous, limit=60).text
    assert "Lisbon" in previous
    assert "09:40" in previous


def test_open_requests_are_noted_where_there_is_room() -> None:
    wide, narrow = summary(limit=200).text, summary(limit=30).text
    assert ASKED in wide
    assert "Divide it" in wide.partition(ASKED)[2]
    assert ASKED not in narrow


@pytest.mark.parametrize(
    ("turns", "kept"),
    [
        (["我叫李明。今天天气怎么样？", "我对花生过敏。写一首诗。"], ["李明", "花生"]),
        (["私の名前は田中です。", "会議は14:30です。詩を書いて。"], ["田中", "14:30"]),
        (
            ["Ich heiße Jürgen und wohne in Köln.", "Der Zug fährt um 8:15. Schreib ein Gedicht."],
            ["Jürgen", "8:15"],
        ),
        (["Je m'appelle Zoé, j'habite à Lyon.", "Écris un poème."], ["Zoé", "Lyon"]),
    ],
)
def test_other_languages_keep_names_numbers_and_wishes(turns: list[str], kept: list[str]) -> None:
    text = summary(None, [Exchange(n, turn, "") for n, turn in enumerate(turns, 1)]).text
    assert all(value in text for value in kept)
