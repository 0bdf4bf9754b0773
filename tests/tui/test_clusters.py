"""The cursor goes by what is seen: letters with accents, flags, families, labels; what is written stays exact."""

from __future__ import annotations

import asyncio
import time

import pytest
import regex  # type: ignore[import-untyped, unused-ignore]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from chatkv.tui.widgets.writing.labelled_area import LabelledArea
from chatkv.tui.writing.clusters import span
from chatkv.tui.writing.written import Written
from tui.driving import shown

FAMILY, FLAG, ACCENT = "👨‍👩‍👧", "🇩🇪", "e\u0301"
CLUSTERS = (
    *"ab c,日ñ\t",
    FAMILY,
    FLAG,
    ACCENT,
    "👍🏽",
    "1️⃣",
    "क्षि",
    "각",
    "z\u0301\u0302\u0323",
    "a\u200d",
    "\u200b",
    "ש",
    "🏴‍☠️",
)
PIECES = (*CLUSTERS, "\u0301", "\u200d", "🇫", "👧", "🏽", "\u0600", "\r", "\u094d", "क", "ᄀ", "ᅡ")
MOVES = (
    *("left", "right", "up", "down", "home", "end", "ctrl+left", "ctrl+right", "pageup", "pagedown"),
    *("shift+left", "shift+right", "shift+up", "shift+down", "ctrl+shift+left", "ctrl+shift+right"),
)
DELETIONS = ("backspace", "delete", "ctrl+w", "ctrl+f", "ctrl+u", "ctrl+k", "ctrl+z", "ctrl+y")


def clusters(text: str) -> list[str]:
    """What is seen as one, by the Unicode standard."""
    found: list[str] = regex.findall(r"\X", text)
    return found


def ends(text: str) -> set[int]:
    return {0, *(found.end() for found in regex.finditer(r"\X", text))}


class AreaApp(App[None]):
    """Nothing but a text area."""

    CSS = "LabelledArea { width: 20; height: 6; }"

    def compose(self) -> ComposeResult:
        yield LabelledArea("")


def area_of(pilot: Pilot[None]) -> LabelledArea:
    return pilot.app.query_one(LabelledArea)


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys one after another, without the rests of `Pilot.press`."""
    for key in keys:
        pilot.app.post_message(events.Key(key, None))
    await pilot.pause()


def places(area: LabelledArea) -> list[tuple[int, int]]:
    return [area.selection.start, area.selection.end]


def stands_between(area: LabelledArea) -> bool:
    """Whether both ends of the selection are between two clusters."""
    return all(column in ends(area.document.get_line(row)) for row, column in places(area))


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_a_cluster_is_what_the_standard_says(text: str) -> None:
    wanted = ends(text)
    for column in range(len(text) + 1):
        start = max(end for end in wanted if end <= column)
        end = min(end for end in wanted if end >= column)
        assert span(text, column) == (start, end)


@pytest.mark.parametrize("text", ["🇩🇪" * 25_000, "日本" * 25_000, FAMILY * 8_000, "a" + "\u0301" * 50_000])
def test_a_long_line_costs_a_key_little(text: str) -> None:
    span(text, 1)
    started = time.perf_counter()
    for column in (len(text) - 1, len(text) // 2):
        span(text, column)
    assert time.perf_counter() - started < 1, "far above what it takes; a machine may be busy"


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from((*CLUSTERS, "\n")), max_size=24).map("".join),
    st.lists(st.sampled_from((*MOVES, *DELETIONS)), max_size=10),
)
def test_the_cursor_never_stands_in_a_cluster(text: str, keys: list[str]) -> None:
    async def act() -> None:
        async with AreaApp().run_test(size=(30, 8)) as pilot:
            area = area_of(pilot)
            area.put(text)
            assert area.text == text
            for key in keys:
                await press(pilot, key)
                assert stands_between(area), key

    asyncio.run(act())


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from((*CLUSTERS, "\n")), max_size=10).map("".join), st.data())
def test_n_deletions_are_n_clusters_less(text: str, data: st.DataObject) -> None:
    parts = clusters(text)
    n = data.draw(st.integers(0, len(parts)))

    async def act() -> None:
        async with AreaApp().run_test(size=(30, 8)) as pilot:
            area = area_of(pilot)
            area.put(text)
            await press(pilot, *["backspace"] * n)
            assert area.text == "".join(parts[: len(parts) - n])
            area.move_cursor((0, 0))
            await press(pilot, *["delete"] * n)
            assert area.text == "".join(parts[: len(parts) - n][n:])

    asyncio.run(act())


@pytest.mark.parametrize("seen", [FAMILY, FLAG, ACCENT])
async def test_one_key_is_one_cluster(seen: str) -> None:
    async with AreaApp().run_test(size=(30, 8)) as pilot:
        area = area_of(pilot)
        area.put(f"a{seen}b")
        await press(pilot, "left", "left")
        assert area.cursor_location == (0, 1)
        await press(pilot, "shift+right")
        assert area.selected_text == seen
        await press(pilot, "right", "backspace")
        assert area.text == "ab"
        await press(pilot, "ctrl+z", "left", "delete")
        assert area.text == "ab"
        area.put(f"{seen}s")
        await press(pilot, "home", "ctrl+right", "ctrl+right")
        assert area.cursor_location == (0, len(seen) + 1), "words end, too"


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("👨", "\u200d", "👩", "left", "👧", "\u200d"), "👧\u200d👨\u200d👩"),
        (("🇫", "🇷", "home", "🇩", "🇪"), "🇩🇪🇫🇷"),
        (("\u0301", "home", "e", "x"), "ex\u0301"),
    ],
)
async def test_what_is_typed_stays_in_its_order(keys: tuple[str, ...], text: str) -> None:
    async with AreaApp().run_test(size=(30, 8)) as pilot:
        area = area_of(pilot)
        for key in keys:
            if len(key) > 1:
                await press(pilot, key)
            else:
                area.post_message(events.Key(key, key) if key.isprintable() else events.Paste(key))
                await pilot.pause()
        assert area.text == text


async def test_what_stands_beside_a_label_is_no_part_of_it() -> None:
    label = "⟦paste 1 · 3 lines · 6 B⟧"
    async with AreaApp().run_test(size=(60, 8)) as pilot:
        area = area_of(pilot)
        area.put(Written("a\nb\nc\n\u0301x", ((0, 6, label),)))
        assert area.text == f"{label}\u0301x"
        await press(pilot, "home", "right")
        assert area.cursor_location == (0, len(label))
        await press(pilot, "right", "left", "backspace")
        assert area.text == "\u0301x"


async def test_the_cursor_is_as_wide_as_what_it_is_on() -> None:
    async with AreaApp().run_test(size=(30, 8)) as pilot:
        area = area_of(pilot)
        area.cursor_blink = False
        area.put(f"a{FAMILY}b")
        await press(pilot, "left", "left")
        await pilot.pause()
        pieces = [segment.text for segment in area.render_line(0)]
        assert FAMILY in pieces
        assert shown(pilot).strip() == f"a{FAMILY}b"
