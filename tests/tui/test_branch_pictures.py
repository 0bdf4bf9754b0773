"""Pictures of branches, of a session that another window writes, of what lasts, and of the search."""

from __future__ import annotations

import re
import time
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from chatkv.store import Store, this_process
from chatkv.tui.talk.place import Place
from tui.driving import NOON, composer, make_app, places, ready, say, sees, settled
from tui.picturing import WIDE, Compare, picture


@pytest.fixture(autouse=True)
def _fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One time zone, and no process number in a picture."""
    monkeypatch.setenv("TZ", "UTC")
    if hasattr(time, "tzset"):
        time.tzset()
    spoken: property = vars(Place)["spoken_writer"]

    def masked(place: Place) -> str:
        return re.sub(r"process \d+", "process 4242", spoken.__get__(place))

    monkeypatch.setattr(Place, "spoken_writer", property(masked))


def told(folder: Path) -> None:
    """A question in two wordings, the second with three answers, and a turn below it."""
    with Store.open(places(folder).database, clock=partial(float, NOON - 300)) as store:
        session = store.create_session("tiny-echo", "Names for a boat")
        store.add_exchange(session.id, None, "What shall I call my boat?", 1, "tiny-echo")
        user, one = store.add_exchange(session.id, None, "Three names for a small blue boat", 1, "tiny-echo")
        names = ["*Wren*, *Plover*, *Tern*", "**Halcyon**, since kingfishers are blue.", "Skiff, Dory, Punt"]
        answers = [
            one.id,
            *(store.add_message(session.id, user.id, "assistant", "", turn=1).id for _ in range(2)),
        ]
        for answer, text in zip(answers, names, strict=True):
            store.update_answer(answer, text=text, thought="", ids=(), answer_start=0, status="complete")
        below = store.add_exchange(session.id, answers[1], "Why kingfishers?", 2, "tiny-echo")[1]
        text = "*Halcyon* is Greek for a kingfisher."
        store.update_answer(below.id, text=text, thought="", ids=(), answer_start=0, status="stopped")


@pytest.mark.parametrize("size", [WIDE, (60, 24)], ids=lambda size: "x".join(map(str, size)))
def test_a_marked_turn_with_alternatives(
    size: tuple[int, int], tmp_path: Path, snap_compare: Compare
) -> None:
    told(tmp_path)

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await sees(pilot, "kingfisher.")
        await pilot.press("ctrl+up", "ctrl+up")

    assert picture(make_app(tmp_path, resume="last"), snap_compare, act, size)


def test_another_window_writes(tmp_path: Path, snap_compare: Compare) -> None:
    told(tmp_path)
    with Store.open(places(tmp_path).database) as store:
        session = store.resolve("last")
        store.claim(session.id, this_process())
        _, answer = store.add_exchange(session.id, session.leaf_id, "And a red one?", 3, "tiny-echo")
        store.update_answer(
            answer.id, text="Robin, of", thought="", ids=(), answer_start=0, status="streaming"
        )

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        composer(pilot).put("a draft that waits")
        await sees(pilot, "Robin, of", "process 4242")

    assert picture(make_app(tmp_path, resume="last"), snap_compare, act)


@pytest.mark.parametrize("theme", ["chatkv", "chatkv-light"])
def test_nothing_is_saved(theme: str, tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await say(pilot, "unsaved")
        await say(pilot, "restore")
        await sees(pilot, "▪ Not saved", "4,096 of 4,200")

    assert picture(make_app(tmp_path, theme=theme), snap_compare, act)


def test_a_session_held_with_another_model(tmp_path: Path, snap_compare: Compare) -> None:
    with Store.open(places(tmp_path).database) as store:
        session = store.create_session("Qwen3-4B", "Held elsewhere")
        _, answer = store.add_exchange(session.id, None, "What is a kingfisher?", 1, "Qwen3-4B")
        store.update_answer(answer.id, text="A bird.", thought="", ids=(), answer_start=0, status="complete")

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await sees(pilot, "A bird.", "Held with Qwen3-4B")

    assert picture(make_app(tmp_path, resume="last", model_typed=True), snap_compare, act)


def test_kv_that_is_read_from_disk(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await say(pilot, "restoring")
        await sees(pilot, "1,024 of 4,096 tokens")

    assert picture(make_app(tmp_path), snap_compare, act)


def test_the_newest_turn_is_marked_from_far_away(tmp_path: Path, snap_compare: Compare) -> None:
    with Store.open(places(tmp_path).database, clock=partial(float, NOON - 300)) as store:
        session, leaf = store.create_session("tiny-echo", "Long"), None
        for n in range(1, 61):
            leaf = store.add_exchange(session.id, leaf, f"question {n}", n, "tiny-echo")[1].id
            store.update_answer(
                leaf, text=f"answer {n}", thought="", ids=(), answer_start=0, status="complete"
            )

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await sees(pilot, "answer 60")
        await settled(pilot)
        await pilot.press("ctrl+home")
        await sees(pilot, "question 1 ")
        await pilot.press("ctrl+up")
        await sees(pilot, "question 60")

    assert picture(make_app(tmp_path, resume="last"), snap_compare, act)


@pytest.mark.parametrize("size", [(130, 34), (70, 24)], ids=lambda size: "x".join(map(str, size)))
def test_search_in_all_sessions(size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    told(tmp_path)
    with Store.open(places(tmp_path).database, clock=partial(float, NOON - 90_000)) as store:
        other = store.create_session("big-model", "Kingfisher feeding")
        store.add_exchange(other.id, None, "When do they feed?", 1, "big-model")

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await settled(pilot)
        await pilot.press("ctrl+o", *"kingf")
        await sees(pilot, "In the conversations")
        await pilot.press("down")
        await pilot.pause(0.4)

    assert picture(make_app(tmp_path), snap_compare, act, size)
