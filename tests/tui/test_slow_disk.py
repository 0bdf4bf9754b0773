"""A disk that is slow to read: the app goes on, keys wait in their order, nothing is sent without its file."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual import events

from chatkv.tui.app import ChatkvApp
from chatkv.tui.writing import attaching
from tui.driving import PATIENCE_S, chat_of, composer, make_app, prompts, ready, say, shown, until

SIZE = (110, 32)


async def comes(holds: Callable[[], bool]) -> None:
    """Until `holds`, while the composer waits and `Pilot.pause` would wait with it."""
    give_up_at = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < give_up_at
        await asyncio.sleep(0.02)


@contextmanager
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Files are read only when this is over; the event: one is about to be."""
    there, begun, read = threading.Event(), threading.Event(), attaching.text_of

    def slowly(file: Path) -> str:
        begun.set()
        assert there.wait(PATIENCE_S)
        return read(file)

    with monkeypatch.context() as patch:
        patch.setattr(attaching, "text_of", slowly)
        try:
            yield begun
        finally:
            there.set()


async def test_a_slow_disk_holds_up_nothing_but_the_message(
    tmp_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "notes.txt").write_text("a note")
    whole = "notes.txt:\n\n```\na note\n```\n"
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        composer(pilot).put("see @notes.txt")
        with slow_disk(monkeypatch):
            for key, character in (("enter", "\r"), ("o", "o"), ("n", "n")):
                pilot.app.post_message(events.Key(key, character))
            await comes(lambda: "Reading a file" in shown(pilot))
            assert prompts(pilot) == [], "nothing is sent without its file"
        await until(pilot, lambda: prompts(pilot) == [f"see {whole}"])
        await until(pilot, lambda: composer(pilot).message == "on")


async def test_what_a_slow_disk_held_up_goes_to_no_other_session(
    tmp_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "notes.txt").write_text("a note")
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        composer(pilot).put("see @notes.txt")
        session = chat_of(pilot).session
        with slow_disk(monkeypatch) as begun:
            pilot.app.post_message(events.Key("enter", "\r"))
            await comes(begun.is_set)
            pilot.app.post_message(events.Key("ctrl+n", None))
            await comes(lambda: composer(pilot).message == "")
        await pilot.pause()
        await say(pilot, "fresh")
        assert prompts(pilot) == ["fresh"]
        app = pilot.app
        assert isinstance(app, ChatkvApp)
        app.desk.open(session or "")
        await until(pilot, lambda: composer(pilot).message == "see @notes.txt")
        assert prompts(pilot) == ["hello"]
