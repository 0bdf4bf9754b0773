"""Every key that the help lists does what the help says. A key without a test here fails the first test."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.binding import Binding
from textual.screen import Screen

import tui.branch_key_checks
import tui.list_key_checks
import tui.memory_key_checks
import tui.model_key_checks
import tui.setting_key_checks
import tui.turn_key_checks
import tui.writing_key_checks  # noqa: F401 (they register their checks)
from chatkv.protocol import Summarized
from chatkv.tui.behind.room import NO_ROOM
from chatkv.tui.screens.ask import ConfirmScreen, NameScreen
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.models import SpecScreen
from chatkv.tui.screens.overlong import OverlongScreen
from chatkv.tui.screens.summary import SummaryScreen
from chatkv.tui.screens.welcome import welcome
from chatkv.tui.settings.keymap import Keymap, spoken
from tui.driving import (
    chat_of,
    composer,
    idle,
    make_app,
    ready,
    say,
    sees,
    send,
    shown,
    states,
    streaming,
    until,
)
from tui.key_checks import CHECKS, OWNERS, WHOLE, Check, listed
from tui.test_keymap import with_keys


def by_check() -> dict[Check, list[str]]:
    """Each check with the keys that it is about."""
    groups: dict[Check, list[str]] = {}
    for name, key in listed():
        groups.setdefault(CHECKS[name], []).append(key)
    return groups


@pytest.mark.parametrize(
    ("check", "keys"), by_check().items(), ids=lambda part: getattr(part, "__name__", "")
)
async def test_the_keys_do_what_the_help_says(check: Check, keys: list[str], tmp_path: Path) -> None:
    for n, key in enumerate(keys):
        async with make_app(tmp_path / str(n)).run_test(size=(110, 32), notifications=True) as pilot:
            await ready(pilot)
            await say(pilot, "hello")
            await check(pilot, key)
        if check in WHOLE:
            return


def test_every_binding_has_an_id_and_a_tooltip() -> None:
    for owner in OWNERS:
        for binding in Binding.make_bindings(owner.BINDINGS):
            assert binding.id, binding
            assert binding.tooltip, binding


async def test_a_question_mark_within_a_message_is_a_question_mark(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(110, 32)) as pilot:
        await ready(pilot)
        await pilot.press("h", "i", "question_mark")
        assert composer(pilot).message == "hi?"


async def test_enter_never_overtakes_what_was_typed_before_it(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(110, 32)) as pilot:
        await ready(pilot)
        keys = [("h", "h"), ("i", "i"), ("question_mark", "?"), ("ctrl+j", None), ("y", "y"), ("enter", "\r")]
        for key, character in keys:
            pilot.app.post_message(events.Key(key, character))
        await until(pilot, lambda: chat_of(pilot).board.turns != [])
        assert chat_of(pilot).board.turns[0].prompt == "hi?\ny"


async def test_the_palette_has_the_actions(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(110, 32)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await pilot.press("ctrl+p", *"answer again")
        await sees(pilot, "Answer the last message again")
        await pilot.press("down", "enter")
        await sees(pilot, "Again: You said: hello")


async def test_the_key_that_stops_says_back_where_it_goes_back(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(110, 32)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        for key in ("ctrl+up", "f3"):
            await pilot.press(key)
            await sees(pilot, "esc Back")
            await pilot.press("escape")
            await until(pilot, lambda: "esc Back" not in shown(pilot))
        await send(pilot, "slow one")
        await streaming(pilot)
        await sees(pilot, "esc Stop")
        await pilot.press("ctrl+up")
        await sees(pilot, "esc Back")
        await pilot.press("escape")
        await sees(pilot, "esc Stop")
        assert states(pilot)[-1] == "streaming"


async def test_questions_and_hints_name_the_keys_in_force(tmp_path: Path) -> None:
    keys = {"confirm_yes": "j", "confirm_no": "f12", "name_cancel": "f11", "spec_cancel": "f9"}
    keys |= {"overlong_head": "h", "overlong_document": "k", "overlong_back": "f8", "summary_save": "f7"}
    keys |= {"summary_close": "ctrl+x", "chat_answer_before": "f6", "composer_submit": "ctrl+s"}
    async with with_keys(tmp_path, **keys).run_test(size=(110, 32)) as pilot:
        await ready(pilot)
        about = partial(OverlongScreen, "text", "It is too long.", ("head", "document"))
        shelf: tuple[tuple[Callable[[], Screen[Any]], tuple[str, ...], str], ...] = (
            (lambda: ConfirmScreen("Sure?", "Gone.", "Delete"), ("Delete (j)", "Keep (F12)"), "f12"),
            (lambda: NameScreen("title"), ("Enter saves · F11 cancels",), "f11"),
            (lambda: SpecScreen(""), ("is not here · F9", "cancels"), "f9"),
            (about, ("h    Send its beginning", "k    Keep it", "F8   Back to"), "f8"),
        )
        for screen, hints, leaves in shelf:
            pilot.app.push_screen(screen())
            await sees(pilot, *hints)
            await pilot.press(leaves)
            await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
        pilot.app.push_screen(
            SummaryScreen(Summarized("words", (1,), "model", tokens=3, id=1), lambda _: None)
        )
        await sees(pilot, "words")
        await pilot.press("x", "ctrl+x")
        await sees(pilot, "Not saved: F7 saves, Ctrl+X again drops your changes.")
        await pilot.press("ctrl+x")
        composer(pilot).put("hello")
        await pilot.press("ctrl+s")
        await idle(pilot)
        await pilot.press("ctrl+r")
        await sees(pilot, "‹ 2/2 › answers · F6 F9")


def test_the_welcome_names_the_key_that_sends() -> None:
    words = partial(welcome, room=NO_ROOM, fetched=True, width=100, height=30)
    assert "Enter sends" in str(words(Keymap()))
    assert "Ctrl+S sends" in str(words(Keymap({"composer.submit": "ctrl+s"})))


def test_keys_are_spoken_as_they_are_printed() -> None:
    assert [spoken(key) for key in ("ctrl+o", "escape", "question_mark", "shift+enter", "f1")] == [
        "Ctrl+O",
        "Esc",
        "?",
        "Shift+Enter",
        "F1",
    ]
