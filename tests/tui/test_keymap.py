"""Keys of a person's own: read from the configuration, in force everywhere, shown as they are in force."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from chatkv.errors import ConfigError
from chatkv.tui.app import ChatkvApp
from chatkv.tui.screens.help import HelpScreen
from chatkv.tui.screens.sessions import SessionsScreen
from chatkv.tui.settings.keymap import Keymap, bindings, places, read_keymap, spoken
from tui.driving import composer, idle, make_app, ready, sees, send, shown, states, streaming, until
from tui.key_checks import OWNERS, listed

SIZE = (110, 34)


def with_keys(folder: Path, **changed: str) -> ChatkvApp:
    """The app with these keys; a `_` in a name stands for the dot."""
    pairs = tuple((name.replace("_", ".", 1), keys) for name, keys in changed.items())
    app = make_app(folder)
    config = replace(app._config, keys=pairs)
    argv = app.desk._link._client._argv
    return ChatkvApp(config, app._paths, worker_argv=argv, clock=lambda: 0.0)


async def help_of(pilot: Pilot[None]) -> str:
    """The rows of the help, as text."""
    await pilot.press("f1")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    rows = pilot.app.screen.query(".key-row")
    return "\n".join(" ".join(str(label.render()) for label in row.query("Label")) for row in rows)


async def test_other_keys_act_and_the_old_ones_do_not(tmp_path: Path) -> None:
    async with with_keys(tmp_path, chat_stop="ctrl+x", chat_sessions="f11,ctrl+e").run_test(
        size=SIZE
    ) as pilot:
        await ready(pilot)
        await send(pilot, "slow one")
        await streaming(pilot)
        await pilot.press("escape")
        assert states(pilot) == ["streaming"]
        await pilot.press("ctrl+x")
        await idle(pilot)
        assert states(pilot) == ["stopped"]
        for key in ("f11", "ctrl+e"):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))
            await pilot.press("escape")
        await sees(pilot, "^x Stop" if "^x Stop" in shown(pilot) else "Sessions")
        listed_there = await help_of(pilot)
        assert "Ctrl+X Stop the answer" in listed_there
        assert "F11  Ctrl+E Search and list all sessions" in listed_there
        assert "Esc Stop" not in listed_there


async def test_two_things_on_one_key_are_told(tmp_path: Path) -> None:
    async with with_keys(tmp_path, chat_stop="ctrl+n").run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await sees(pilot, "Ctrl+N is the key of chat.new and chat.stop.")
        composer(pilot).put("still here")


async def test_without_changes_nothing_clashes() -> None:
    assert Keymap().clashes() == []


@pytest.mark.parametrize(
    ("name", "keys", "says", "hint"),
    [
        ("chat.stpo", "ctrl+x", "[keys] chat.stpo: there is no such setting.", "`chat.stop`"),
        ("stop", "ctrl+x", "[keys] stop: there is no such setting.", "`chat.stop`"),
        ("chat.stop", "ctl+x", "there is no key 'ctl+x'", "ctrl+x"),
        ("chat.stop", "ctrl+x,escpe", "there is no key 'escpe'", "escape"),
    ],
)
def test_what_does_not_exist_is_named(name: str, keys: str, says: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_keymap([(name, keys)])
    assert says in caught.value.message
    assert hint in caught.value.hint


def test_every_key_that_the_app_has_can_be_written() -> None:
    for name, found in bindings().items():
        read_keymap([(name, ",".join(binding.key for binding in found))])
    assert read_keymap([("chat.stop", "?, f11 ,alt+up")]).keys("chat.stop") == (
        "question_mark",
        "f11",
        "alt+up",
    )


def test_the_help_has_every_binding_there_is() -> None:
    known = {binding.id for place in places().values() for binding in place}
    assert {name for name, _ in listed()} <= known, [owner.__name__ for owner in OWNERS]
    assert all(binding.id and binding.tooltip for place in places().values() for binding in place)


def test_every_key_that_the_pages_name_is_one() -> None:
    root = Path(__file__).parents[2]
    known = {spoken(key) for _, key in listed()}
    for page in ("README.md", "config.toml"):
        text = (root / page).read_text(encoding="utf-8")
        named = set(re.findall(r"\bF\d+\b|\b(?:Ctrl|Alt|Shift)\+\w+", text))
        assert named <= known, page
    assert "F1" in known


async def test_the_help_lists_every_key_in_force(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        text = await help_of(pilot)
        for name, key in listed():
            assert spoken(key) in text, name
        assert str(tmp_path / "config.toml") in text
