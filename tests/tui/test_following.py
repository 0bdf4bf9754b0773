"""A session that another process writes: shown as it grows, never written here, taken over when it is free."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatkv.store import Store, this_process
from tui.driving import (
    chat_of,
    composer,
    idle,
    make_app,
    places,
    ready,
    say,
    sees,
    send,
    shown,
    states,
    until,
)

SIZE = (110, 32)


class Other:
    """Another window: this very test, as a process that has a session open."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.session = store.create_session("tiny-echo", "shared").id
        self.leaf: int | None = None
        self.turn = 0
        store.claim(self.session, this_process())

    def ask(self, text: str) -> int:
        """Begin a turn; the id of its answer."""
        self.turn += 1
        _, answer = self.store.add_exchange(self.session, self.leaf, text, self.turn, "tiny-echo")
        self.leaf = answer.id
        return answer.id

    def write(self, answer: int, text: str, *, done: bool = False) -> None:
        """The answer as far as it is."""
        status = "complete" if done else "streaming"
        self.store.update_answer(
            answer,
            text=text,
            thought="",
            ids=(),
            answer_start=0,
            status=status,  # type: ignore[arg-type]
        )

    def close(self) -> None:
        """Let go of the session."""
        self.store.release(self.session, this_process())


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Other]:
    with Store.open(places(tmp_path).database) as store:
        window = Other(store)
        window.write(window.ask("said there"), "answered there", done=True)
        yield window


async def test_what_the_other_window_says_appears_and_a_draft_stays(tmp_path: Path, other: Other) -> None:
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await ready(pilot)
        await sees(pilot, "answered there", "writes in this session", "read only · drafts stay here")
        answer = other.ask("and on")
        await until(pilot, lambda: states(pilot) == ["complete", "streaming"])
        other.write(answer, "it comes")
        await sees(pilot, "it comes")
        other.write(answer, "it comes in pieces")
        await sees(pilot, "it comes in pieces")
        other.write(answer, "it comes in pieces, done", done=True)
        await until(pilot, lambda: states(pilot) == ["complete", "complete"])
        await sees(pilot, "pieces, done")
        await send(pilot, "mine")
        await until(pilot, lambda: composer(pilot).message == "mine")
        assert chat_of(pilot).board.queue == []
    assert len(other.store.path(other.leaf)) == 4


async def test_what_would_change_it_is_refused_visibly(tmp_path: Path, other: Other) -> None:
    async with make_app(tmp_path, resume="last").run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await sees(pilot, "writes in this session")
        await until(pilot, lambda: not chat_of(pilot).place.expecting)
        for key in ("ctrl+r", "f3", "f4"):
            pilot.app.clear_notifications()
            await pilot.press(key)
            await until(pilot, lambda: len(pilot.app._notifications) == 1)
            assert chat_of(pilot).editing is None
        await send(pilot, "/pin 1")
        assert composer(pilot).message == "/pin 1"
        await pilot.press("ctrl+o")
        await sees(pilot, "1 of 1")
        await pilot.press("ctrl+d")
        await sees(pilot, "gone for good")
        await pilot.press("y")
        await sees(pilot, "That session is open in another process.")
    assert len(other.store.path(other.leaf)) == 2


async def test_it_is_followed_before_there_is_a_model(tmp_path: Path, other: Other) -> None:
    answer = other.ask("a long one")
    other.write(answer, "half")
    async with make_app(tmp_path, "--hold", resume="last").run_test(size=SIZE) as pilot:
        await sees(pilot, "half", "writes in this session")
        assert states(pilot) == ["complete", "streaming"]
        other.write(answer, "half and half", done=True)
        await until(pilot, lambda: states(pilot) == ["complete", "complete"])
        await sees(pilot, "half and half")


@pytest.mark.parametrize("way", ["f5", "enter"])
async def test_it_is_taken_over_once_the_other_window_closed_it(
    way: str, tmp_path: Path, other: Other
) -> None:
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await ready(pilot)
        await sees(pilot, "writes in this session")
        cut = other.ask("cut short")
        other.write(cut, "half")
        await sees(pilot, "half")
        other.close()
        await sees(pilot, "has closed this session")
        if way == "f5":
            await pilot.press("f5")
            await until(pilot, lambda: not chat_of(pilot).place.writer)
            await until(pilot, lambda: states(pilot) == ["complete", "partial"])
        composer(pilot).put("mine now")
        await pilot.press("enter")
        await until(pilot, lambda: len(states(pilot)) == 3)
        await idle(pilot)
        assert states(pilot) == ["complete", "partial", "complete"]
        assert "read only" not in shown(pilot)
        await say(pilot, "again")
        assert len(states(pilot)) == 4


async def test_a_view_that_was_scrolled_up_stays_where_it_is(tmp_path: Path, other: Other) -> None:
    for n in range(20):
        other.write(other.ask(f"question {n}"), f"answer {n}", done=True)
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await ready(pilot)
        await sees(pilot, "answer 19", "writes in this session")
        await pilot.press("pageup")
        await pilot.pause()
        before = [line[:60] for line in shown(pilot).splitlines()[:15]]
        other.write(other.ask("one more"), "yes", done=True)
        await until(pilot, lambda: len(chat_of(pilot).board.turns) == 22)
        await pilot.pause(0.3)
        assert [line[:60] for line in shown(pilot).splitlines()[:15]] == before
        await pilot.press("ctrl+end")
        await sees(pilot, "one more")
