"""The settings screen: what it shows, what it writes, and what of it acts at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Label

from chatkv.config import keys, load_config
from chatkv.config.meaning import meanings
from chatkv.protocol import Set
from chatkv.tui.app import ChatkvApp
from chatkv.tui.screens.setting_lines import about
from chatkv.tui.screens.settings import SettingsScreen
from chatkv.tui.settings.preferences import Preferences
from chatkv.tui.widgets.memory.sidebar import Sidebar
from tui.driving import make_app, places, ready, sees, settled, shown, until
from tui.picturing import Compare, picture
from tui.setting_key_checks import in_settings

SIZE = (110, 34)


def set_of(pilot: Pilot[None]) -> list[Set]:
    """What the worker was told to set."""
    assert isinstance(pilot.app, ChatkvApp)
    return pilot.app.desk._settings


async def write(pilot: Pilot[None], key: str, text: str) -> None:
    """Filter for `key`, write `text` as its value, save."""
    await in_settings(pilot, key)
    await pilot.press("enter")
    pilot.app.screen.query_one("#value", Input).value = text
    await pilot.press("enter")


async def test_every_setting_is_listed_with_its_meaning(tmp_path: Path) -> None:
    listed = Preferences(places(tmp_path), environ={}).all()
    assert [one.key for one in listed] == list(keys())
    for one in listed:
        assert meanings()[one.key][1:40] in about(one)
        assert one.origin == "default"


async def test_what_is_typed_is_checked_saved_and_told_to_the_worker(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await write(pilot, "sampling.temperature", "warm")
        await sees(pilot, "✗ sampling.temperature = 'warm': expected a number.")
        assert not places(tmp_path).config_file.exists()
        pilot.app.screen.query_one("#value", Input).value = " 0.5 "
        await pilot.press("enter")
        await sees(pilot, "Saved, and in force.", "0.5  file")
        assert set_of(pilot) == [Set("sampling.temperature", 0.5)]
        assert load_config(paths=places(tmp_path), environ={}).sampling.temperature == 0.5
        await pilot.press("ctrl+d")
        await sees(pilot, "the model's own", "loaded again: Ctrl+L does that now")
        assert set_of(pilot) == [], "a worker that comes later reads the file"
        assert load_config(paths=places(tmp_path), environ={}).sampling.temperature is None


async def test_a_list_goes_to_the_worker_as_it_is_written(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await write(pilot, "sampling.stop", r'["\nUser:"]')
        await sees(pilot, "Saved, and in force.")
        assert set_of(pilot) == [Set("sampling.stop", r'["\nUser:"]')]


async def test_theme_and_sidebar_act_at_once_and_stay(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await in_settings(pilot, "ui.sidebar")
        await pilot.press("enter")
        await sees(pilot, "off  file")
        await pilot.press("escape", *"ui.theme", "enter")
        await until(pilot, lambda: pilot.app.theme == "chatkv-light")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, SettingsScreen))
        assert not pilot.app.screen.query_one(Sidebar).display
        pilot.app.theme = "nord"  # as the palette does
        await until(pilot, lambda: load_config(paths=places(tmp_path), environ={}).ui.theme == "nord")
    ui = load_config(paths=places(tmp_path), environ={}).ui
    assert (ui.theme, ui.sidebar) == ("nord", False)


async def test_a_setting_that_the_environment_sets_is_saved_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATKV_MEMORY_KEEP_TURNS", "9")
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await write(pilot, "memory.keep_turns", "3")
        await sees(pilot, "9  environment", "Saved for later: in this run the environment sets it.")
        assert set_of(pilot) == []
    assert load_config(paths=places(tmp_path), environ={}).memory.keep_turns == 3


async def test_a_file_that_is_not_valid_is_told_and_left_alone(tmp_path: Path) -> None:
    file = places(tmp_path).config_file
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await in_settings(pilot, "keep_turns")
        file.write_text("[memory\n")
        await pilot.press("enter")
        pilot.app.screen.query_one("#value", Input).value = "3"
        await pilot.press("enter")
        said = pilot.app.screen.query_one("#said", Label)
        await until(pilot, lambda: "is not valid TOML" in str(said.content))
    assert file.read_text() == "[memory\n"


async def test_a_value_of_several_lines_is_left_to_an_editor(tmp_path: Path) -> None:
    file = places(tmp_path).config_file
    file.write_text('[chat]\nsystem = "one\\u001b[31m\\ntwo"\n')
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await in_settings(pilot, "chat.system")
        await pilot.press("enter")
        await sees(pilot, "It has more than one line")
        assert "\x1b" not in shown(pilot)


async def test_words_that_fit_nothing_say_so(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await in_settings(pilot, "zzz")
        await sees(pilot, "Nothing fits.")
        await pilot.press("down", "enter", "ctrl+d")
        assert isinstance(pilot.app.screen, SettingsScreen)


async def test_resizing_keeps_what_is_written(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await in_settings(pilot, "sampling.stop")
        await pilot.press("enter")
        pilot.app.screen.query_one("#value", Input).value = "END"
        for size in ((40, 12), (300, 80), (24, 5), SIZE):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await pilot.press("enter")
        await sees(pilot, '["END"]  file')


@pytest.mark.parametrize("theme", ["chatkv", "chatkv-light"])
@pytest.mark.parametrize("size", [(110, 34), (80, 24), (40, 12)], ids=lambda size: "x".join(map(str, size)))
def test_pictures(
    size: tuple[int, int], theme: str, tmp_path: Path, snap_compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATKV_UI_NOTIFY", "no")
    places(tmp_path).config_file.write_text("[chat]\nthinking = false\n")

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await settled(pilot)
        await in_settings(pilot)
        await pilot.press("down", "down")

    assert picture(make_app(tmp_path, theme=theme), snap_compare, act, size)
