"""Turns by key and by mouse: marked, copied, found, walked through, and nothing that is typed there is lost."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.pilot import Pilot

from chatkv.store import Store
from chatkv.tui.prose.seeking import Seeker, fold, lines_with, occurrences, spans
from chatkv.tui.talk.exchange import Exchange
from chatkv.tui.widgets.find_bar import FindBar
from chatkv.tui.widgets.talk.transcript import Transcript
from chatkv.tui.widgets.talk.turn import TurnView
from tui.driving import (
    chat_of,
    composer,
    idle,
    make_app,
    places,
    ready,
    release,
    say,
    sees,
    send,
    shown,
    states,
    streaming,
    until,
)
from tui.test_markdown import Page
from tui.turn_key_checks import marked, marked_view

SIZE = (110, 32)


def spot(pilot: Pilot[None], text: str, nth: int = 0) -> tuple[int, int]:
    """Where the `nth` occurrence of `text` is on the screen."""
    found = [(line.index(text), y) for y, line in enumerate(shown(pilot).split("\n")) if text in line]
    return found[nth]


async def press_at_once(pilot: Pilot[None], keys: Iterable[tuple[str, str | None]]) -> None:
    """Keys that are all there before the first is taken."""
    for key, character in keys:
        pilot.app.post_message(events.Key(key, character))
    await pilot.pause()


async def test_what_is_typed_on_a_marked_turn_is_written(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "first")
        await marked(pilot, 1)
        await press_at_once(pilot, [(letter, letter) for letter in "hefgrepyqct1"])
        await until(pilot, lambda: composer(pilot).message == "hefgrepyqct1")
        assert pilot.app.focused is composer(pilot)
        assert chat_of(pilot).editing is None
        await pilot.press("ctrl+up")
        await until(pilot, lambda: pilot.app.focused is marked_view(pilot))
        pilot.app.post_message(events.Paste(" and\r\nmore"))
        await until(pilot, lambda: composer(pilot).message == "hefgrepyqct1 and\r\nmore")
        assert states(pilot) == ["complete"]


async def test_a_click_marks_and_a_selection_does_not(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "one word after another")
        await say(pilot, "second")
        x, y = spot(pilot, "You said: one word")
        await pilot.mouse_down(offset=(x, y))
        await pilot.hover(offset=(x + 8, y))
        await pilot.mouse_up(offset=(x + 8, y))
        assert pilot.app.screen.get_selected_text() in ("You said", "You said:")
        assert marked_view(pilot) is None
        assert pilot.app.focused is composer(pilot)
        await pilot.click(offset=spot(pilot, "second"))
        await until(pilot, lambda: pilot.app.focused is marked_view(pilot) is not None)
        await pilot.click(offset=(x, y))
        await until(pilot, lambda: chat_of(pilot).branches.marked == chat_of(pilot).board.turns[0].key)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.focused is composer(pilot))


async def test_a_click_copies_code_question_and_answer(tmp_path: Path) -> None:
    answer = "one\n```py\nprint(1)\n```\ntwo\n```py\nprint(2)\n\n```"
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await say(pilot, f"say {answer}")
        for nth, code in enumerate(("print(1)", "print(2)\n")):
            await pilot.click(offset=spot(pilot, "❐ copy", nth))
            assert pilot.app.clipboard == code
        assert marked_view(pilot) is None
        await marked(pilot, 1)
        for label, text in (("❐ answer", answer), ("❐ question", f"say {answer}")):
            await pilot.click(offset=spot(pilot, label))
            assert pilot.app.clipboard == text
        assert "❐ answer" not in shown(pilot) or marked_view(pilot) is not None


async def test_escape_leaves_a_marked_turn_before_it_stops_an_answer(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "first")
        await send(pilot, "slow one")
        await streaming(pilot)
        await marked(pilot, 1)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.focused is composer(pilot))
        assert states(pilot) == ["complete", "streaming"]
        await pilot.press("escape")
        await idle(pilot)
        assert states(pilot) == ["complete", "stopped"]


def long_talk(folder: Path, n_turns: int) -> None:
    with Store.open(places(folder).database) as store:
        session, leaf = store.create_session("tiny-echo", "Long"), None
        for n in range(1, n_turns + 1):
            prompt = "where is the Kïngfisher?" if n in (3, 90) else f"question {n}"
            leaf = store.add_exchange(session.id, leaf, prompt, n, "tiny-echo")[1].id
            text = "word\n\n" * 60 + "a **king**fisher at last" if n == 3 else f"answer {n}"
            store.update_answer(leaf, text=text, thought="", ids=(), answer_start=0, status="complete")


async def test_words_are_found_in_turns_that_are_not_mounted(tmp_path: Path) -> None:
    long_talk(tmp_path, 120)
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await ready(pilot)
        await sees(pilot, "answer 120")
        await pilot.press("ctrl+f", *"kingfisher")
        await sees(pilot, "1/3", "where is the Kïngfisher?")
        await pilot.press("enter")
        await sees(pilot, "2/3", "a kingfisher at last")  # far below the top of its turn
        view = marked_view(pilot)
        assert view is not None
        assert view.exchange.turn == 3
        await pilot.press("enter")
        await sees(pilot, "3/3", "question 91")
        await pilot.press("escape")
        assert pilot.app.focused is composer(pilot)
        assert "where is the Kïngfisher?" in shown(pilot)
        await pilot.press("ctrl+f")
        await sees(pilot, "3/3")


async def test_words_are_found_while_an_answer_grows(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "needle")
        await send(pilot, "slow " + "hay " * 30 + "needle")
        await streaming(pilot)
        await pilot.press("ctrl+f", *"needle")
        await sees(pilot, "/3")
        release(pilot)
        await idle(pilot)
        await sees(pilot, "/4")
        assert pilot.app.screen.query_one(FindBar).words == "needle"


async def test_two_thousand_turns_are_walked_through(tmp_path: Path) -> None:
    turns = [Exchange(n, f"q{n}", f"answer {n}", turn=n) for n in range(1, 2001)]
    async with Page().run_test(size=(60, 20)) as pilot:
        view = pilot.app.query_one(Transcript)
        view.rebuild(turns)
        await pilot.pause()
        for key in (2000, 1999, 1, 2, 1000, 1001, 2000):
            view.mark(key, turns)
            await pilot.pause()
            await until(pilot, lambda: f"answer {key}" in shown(pilot))  # noqa: B023
            assert len(view.query(TurnView)) <= 50
        view.to_top(turns)
        await until(pilot, lambda: "answer 1\n" in shown(pilot))
        view.to_end(turns)
        await until(pilot, lambda: "answer 2000" in shown(pilot))
        seeker = Seeker()
        assert seeker.seek("answer 1999", turns) is not None
        assert seeker.place == "1/1"


LETTERS = st.text(alphabet=st.sampled_from("aáAÁßsﬁfi日本かがｶﾞ e\u0301\u200b한*` \nİI"), max_size=30)


@given(LETTERS, LETTERS)
def test_found_words_are_where_they_are_said_to_be(text: str, words: str) -> None:
    needle = fold(words)
    found = spans(text, needle)
    assert len(found) == len(list(occurrences(fold(text), needle)))
    for first, last in found:
        assert needle in fold(text[first:last])
    assert len(lines_with(text.split("\n"), needle)) <= len(text)


def test_case_accents_and_width_do_not_matter_and_sound_marks_do() -> None:
    assert fold("ÉCOLE Ａ１ ﬁ ß e\u0301 a\u200bb") == "ecole a1 fi ss e ab"
    assert fold("か") != fold("が")
    assert fold("하") != fold("한")
    assert fold("\x1b[1m") == fold("␛[1m")


def test_one_stays_at_a_match_while_more_come() -> None:
    turns = [Exchange(n, "x", "y" * n) for n in range(1, 4)]
    seeker = Seeker()
    match = seeker.seek("y", turns, 2)
    assert match is not None
    assert (match.key, seeker.place) == (2, "2/6")
    seeker.look_again([Exchange(9, "y"), *turns])
    assert seeker.place == "3/7"
    assert seeker.match == match
    seeker.look_again(turns[:1])
    assert seeker.place == "1/1"
    assert seeker.seek("nowhere", turns) is None
    assert seeker.place == "not found"
    assert seeker.step(1) is None
    assert seeker.seek("  ", turns) is None


def test_what_emphasis_hides_is_found() -> None:
    seeker = Seeker()
    match = seeker.seek("two words", [Exchange(1, "q", "these **two** words")])
    assert match is not None
    assert match.part == "answer"
