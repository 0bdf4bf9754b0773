"""A picture of every screen. After a wanted change: `pytest tests/tui/test_pictures.py --snapshot-update`, and look."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from chatkv.store import Store
from tui.driving import NOON, idle, make_app, places, ready, release, say, sees, send, settled, streaming
from tui.picturing import Compare, picture


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    if hasattr(time, "tzset"):
        time.tzset()


async def loading(pilot: Pilot[None]) -> None:
    await sees(pilot, "96 of 272 tensors")
    composer_still(pilot)


def composer_still(pilot: Pilot[None]) -> None:
    """A cursor that blinks would make two pictures of one screen."""
    from tui.driving import composer

    composer(pilot).cursor_blink = False


async def talk(pilot: Pilot[None], *texts: str) -> None:
    await ready(pilot)
    for text in texts:
        await say(pilot, text)


def test_loading(tmp_path: Path, snap_compare: Compare) -> None:
    assert picture(make_app(tmp_path, "--hold"), snap_compare, loading)


def test_empty(tmp_path: Path, snap_compare: Compare) -> None:
    assert picture(make_app(tmp_path), snap_compare, talk)


def test_mid_stream(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await talk(pilot, "hello")
        await send(pilot, "slow and steady wins the race")
        await streaming(pilot)
        await send(pilot, "and this one waits")
        await sees(pilot, "◦ queued", "answering")

    assert picture(make_app(tmp_path), snap_compare, act)


@pytest.mark.parametrize("theme", ["chatkv", "chatkv-light"])
def test_finished_turns_with_code(theme: str, tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await talk(pilot, "think", "code")

    assert picture(make_app(tmp_path, theme=theme), snap_compare, act)


def test_stopped_cut_and_failed(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await send(pilot, "slow one")
        await streaming(pilot)
        await pilot.press("escape")
        await idle(pilot)
        await say(pilot, "long")
        await say(pilot, "error")
        await sees(pilot, "Lower memory.budget.")

    assert picture(make_app(tmp_path), snap_compare, act)


def test_partial(tmp_path: Path, snap_compare: Compare) -> None:
    with Store.open(places(tmp_path).database) as store:
        session = store.create_session("tiny-echo", "Cut short")
        _, answer = store.add_exchange(session.id, None, "Tell me a story", 1, "tiny-echo")
        store.update_answer(
            answer.id, text="Once upon a", thought="", ids=(), answer_start=0, status="streaming"
        )

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await sees(pilot, "◌ partial")

    assert picture(make_app(tmp_path, resume="last"), snap_compare, act)


def shelf(folder: Path) -> None:
    ages = {"A recipe for bread": 900_000, "Reading files in Python": 90_000, "": 3_000, "日本語の質問": 60}
    for title, age_s in ages.items():
        with Store.open(places(folder).database, clock=partial(float, NOON - age_s)) as store:
            session = store.create_session("tiny-echo", title)
            store.add_message(session.id, None, "user", "x", turn=1)


async def to_sessions(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await settled(pilot)  # what stands behind the list is drawn as it was when the list came
    await pilot.press("ctrl+o")
    await sees(pilot, "4 of 4")


def test_sessions(tmp_path: Path, snap_compare: Compare) -> None:
    shelf(tmp_path)
    assert picture(make_app(tmp_path), snap_compare, to_sessions)


def test_confirm_delete(tmp_path: Path, snap_compare: Compare) -> None:
    shelf(tmp_path)

    async def act(pilot: Pilot[None]) -> None:
        await to_sessions(pilot)
        await pilot.press("down", "ctrl+d")
        await sees(pilot, "gone for good")

    assert picture(make_app(tmp_path), snap_compare, act)


def test_help(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await settled(pilot)
        await pilot.press("f1")
        await sees(pilot, "Keys")

    assert picture(make_app(tmp_path), snap_compare, act, (100, 60))


@pytest.mark.parametrize("size", [(40, 12), (84, 24), (300, 80)], ids=lambda size: "x".join(map(str, size)))
def test_small_and_large(size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await talk(pilot, "hello", "code", "long")
        release(pilot)

    assert picture(make_app(tmp_path), snap_compare, act, size)


def test_the_sidebar_over_a_narrow_transcript(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await talk(pilot, "hello", "code")
        await pilot.press("ctrl+b")

    assert picture(make_app(tmp_path), snap_compare, act, (70, 34))
