"""Pictures of the composer: counted, too long, with a file, with completions, with a draft that comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tui.driving import composer, make_app, ready, sees, until
from tui.picturing import Compare, picture

SIZE = (80, 18)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes.txt").write_text("a line\n" * 120)
    (folder / "my next plan.md").write_text("plan\n")
    (folder / "naïve 日本語.txt").write_text("text\n")
    monkeypatch.chdir(folder)


async def counted(pilot: Pilot[None], text: str, words: str) -> None:
    await ready(pilot)
    composer(pilot).put(text)
    await until(pilot, lambda: words in str(composer(pilot).border_subtitle))


def test_counted(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await counted(pilot, "How do I read a file\nline by line?", "9 tokens")

    assert picture(make_app(tmp_path), snap_compare, act, SIZE)


@pytest.mark.parametrize(("n_words", "words"), [(7_000, "summarized first"), (9_000, "too long by 1,000")])
def test_more_than_is_free(tmp_path: Path, snap_compare: Compare, n_words: int, words: str) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await counted(pilot, "a " * n_words, words)
        await until(pilot, lambda: "tokens⟧" in composer(pilot).text)

    assert picture(make_app(tmp_path), snap_compare, act, SIZE)


def test_paths_and_an_attached_file(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await pilot.press(*"sum up @notes.", "tab")
        await until(pilot, lambda: "tokens⟧" in composer(pilot).text)
        await pilot.press(*" and @n")
        await sees(pilot, "notes/", "naïve 日本語.txt")
        await pilot.press("down", "down")

    assert picture(make_app(tmp_path), snap_compare, act, SIZE)


@pytest.mark.parametrize("size", [SIZE, (40, 12)], ids=["80x18", "40x12"])
def test_commands_chosen_by_arrows(tmp_path: Path, snap_compare: Compare, size: tuple[int, int]) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await pilot.press("slash", *["down"] * 5)
        await sees(pilot, "/recall words")

    assert picture(make_app(tmp_path), snap_compare, act, size)


def test_what_a_command_takes(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await pilot.press("slash", *"budget 512")
        await sees(pilot, "/budget size")

    assert picture(make_app(tmp_path), snap_compare, act, SIZE)
