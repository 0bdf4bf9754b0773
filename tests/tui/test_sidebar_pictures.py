"""A picture of the sidebar at every moment that memory has. Look at each after a wanted change."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tui.driving import make_app
from tui.picturing import Compare, picture
from tui.sidebar_scenes import SCENES, decode, healing, many, played, recalled

TALL = (120, 48)


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.mark.parametrize("name", SCENES)
def test_the_memory_at_work(name: str, tmp_path: Path, snap_compare: Compare) -> None:
    assert picture(make_app(tmp_path), snap_compare, played(SCENES[name]), TALL)


def test_in_a_light_theme(tmp_path: Path, snap_compare: Compare) -> None:
    assert picture(make_app(tmp_path, theme="chatkv-light"), snap_compare, played(healing), TALL)


def test_without_colour(tmp_path: Path, snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert picture(make_app(tmp_path), snap_compare, played(decode), TALL)


@pytest.mark.parametrize("size", [(100, 24), (110, 34), (300, 80)], ids=lambda size: "x".join(map(str, size)))
def test_in_other_sizes(size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    assert picture(make_app(tmp_path), snap_compare, played(many), size)


@pytest.mark.parametrize("size", [(40, 12), (80, 24)], ids=lambda size: "x".join(map(str, size)))
def test_folded_into_a_line(size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    assert picture(make_app(tmp_path), snap_compare, played(decode), size)


def test_all_events(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await played(recalled)(pilot)
        await pilot.press("f12")

    assert picture(make_app(tmp_path), snap_compare, act, (110, 34))
