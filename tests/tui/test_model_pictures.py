"""Pictures of a session held with another model, and of the choice. To renew them: see `test_pictures`."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from chatkv.tui.screens.models import SpecScreen
from tui.driving import chat_of, make_app, ready, sees, settled, until
from tui.model_shelf import OTHER, choosing, held, shelve
from tui.picturing import Compare, picture


async def read_only(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await until(pilot, lambda: chat_of(pilot).held.here is not None)
    await sees(pilot, "A bird.", "Held with", "read only")


@pytest.mark.parametrize("size", [(110, 30), (60, 20)], ids=lambda size: "x".join(map(str, size)))
def test_a_session_is_read_only_until_its_model_is_chosen(
    size: tuple[int, int], tmp_path: Path, snap_compare: Compare
) -> None:
    held(tmp_path, OTHER, OTHER)
    assert picture(make_app(tmp_path, resume="last"), snap_compare, read_only, size)


@pytest.mark.parametrize("theme", ["chatkv", "chatkv-light"])
@pytest.mark.parametrize("size", [(110, 30), (50, 18)], ids=lambda size: "x".join(map(str, size)))
def test_the_choice_of_a_model(
    size: tuple[int, int], theme: str, tmp_path: Path, snap_compare: Compare
) -> None:
    shelve(tmp_path, OTHER, "org/third-model-with-a-long-name")

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        pilot.app.desk.open(held(tmp_path, OTHER, OTHER))  # type: ignore[attr-defined]
        await until(pilot, lambda: bool(chat_of(pilot).held.here))
        await settled(pilot)  # what lies behind a question is drawn as it was
        await choosing(pilot)

    assert picture(make_app(tmp_path, theme=theme), snap_compare, act, size)


def test_another_model_in_writing(tmp_path: Path, snap_compare: Compare) -> None:
    held(tmp_path, OTHER, OTHER)

    async def act(pilot: Pilot[None]) -> None:
        await read_only(pilot)
        await settled(pilot)
        await choosing(pilot)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(pilot.app.screen, SpecScreen))

    assert picture(make_app(tmp_path, resume="last"), snap_compare, act, (90, 26))
