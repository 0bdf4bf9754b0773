"""Every key that the help lists does what the help says. A key without a test here fails the first test."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.binding import Binding

import tui.branch_key_checks
import tui.list_key_checks
import tui.memory_key_checks
import tui.model_key_checks
import tui.setting_key_checks
import tui.turn_key_checks
import tui.writing_key_checks  # noqa: F401 (they register their checks)
from chatkv.tui.settings.keymap import spoken
from tui.driving import (
    chat_of,
    composer,
    make_app,
    ready,
    say,
    sees,
    until,
)
from tui.key_checks import CHECKS, OWNERS, WHOLE, Check, listed


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


def test_keys_are_spoken_as_they_are_printed() -> None:
    assert [spoken(key) for key in ("ctrl+o", "escape", "question_mark", "shift+enter", "f1")] == [
        "Ctrl+O",
        "Esc",
        "?",
        "Shift+Enter",
        "F1",
    ]
