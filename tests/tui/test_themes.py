"""Every list in front of the chat can be read in our themes and in Textual's, without colour too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.color_triplet import ColorTriplet
from textual.pilot import Pilot

from chatkv.tui.behind.room import Room
from chatkv.tui.screens.settings import SettingList
from tui.driving import make_app, ready, sees, settled, shown
from tui.model_shelf import choosing
from tui.setting_key_checks import in_settings

LEAST = 3.0
"""WCAG 2's least contrast for large text; what is worth reading has more."""
THEMES = ("chatkv", "chatkv-light", "textual-light", "nord", "gruvbox", "dracula", "ansi-dark", "ansi-light")


def luminance(colour: ColorTriplet) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: ColorTriplet, other: ColorTriplet) -> float:
    """From 1 (the same) to 21 (black on white)."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def words_in_front(pilot: Pilot[None]) -> Iterator[tuple[str, float]]:
    """Each piece of text of the screen in front with its contrast, where it has colours of its own."""
    region = pilot.app.screen.query_one(".panel").region
    strips = pilot.app.screen._compositor.render_strips(pilot.app.size)
    for strip in strips[region.y + 1 : region.bottom - 1]:
        for segment in strip.crop(region.x + 1, region.right - 1):
            style = segment.style
            if style is None or style.color is None or style.bgcolor is None:
                continue
            ours, ground = style.color.triplet, style.bgcolor.triplet
            if ours and ground and any(character.isalnum() for character in segment.text):
                yield segment.text.strip(), contrast(ours, ground)


@pytest.mark.parametrize("theme", THEMES)
async def test_lists_in_front_can_be_read(theme: str, tmp_path: Path) -> None:
    room = Room(12 << 30, "memory")
    async with make_app(tmp_path, theme=theme, room=room).run_test(size=(110, 40)) as pilot:
        await ready(pilot)
        assert pilot.app.theme == theme
        await in_settings(pilot)
        await sees(pilot, "Which model answers")
        found = list(words_in_front(pilot))
        await pilot.press("escape", "f1")
        await sees(pilot, "Keys and commands")
        found += words_in_front(pilot)
        await pilot.press("escape")
        await choosing(pilot)
        await sees(pilot, "would fit here")
        found += words_in_front(pilot)
    assert [(text, round(least, 1)) for text, least in found if least < LEAST] == []
    assert theme.startswith("ansi") or len(found) > 60


async def test_without_colour_the_marked_setting_is_bold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with make_app(tmp_path).run_test(size=(110, 40)) as pilot:
        await ready(pilot)
        listed = await in_settings(pilot)
        assert isinstance(listed, SettingList)
        await settled(pilot)
        y = next(at for at, line in enumerate(shown(pilot).splitlines()) if "model  " in line)
        strips = pilot.app.screen._compositor.render_strips(pilot.app.size)
        assert any(segment.style and segment.style.bold for segment in strips[y] if "model" in segment.text)
