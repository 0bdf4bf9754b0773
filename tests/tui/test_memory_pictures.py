"""A picture of all that memory adds. After a wanted change: `pytest tests/tui --snapshot-update -n 0`, and look."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Collapsible

from chatkv.protocol import Kv, KvSegment
from chatkv.tui.app import ChatkvApp
from tui.driving import make_app, ready, say, sees, send, settled
from tui.picturing import Compare, picture

TALL = (120, 44)
SAID = ("My boat is called Esmeralda", "and what is a good knot", "think", "how do I sail in winter")


async def talk(pilot: Pilot[None], *texts: str) -> None:
    await ready(pilot)
    for text in texts:
        await say(pilot, text)


async def compacted(pilot: Pilot[None]) -> None:
    await talk(pilot, *SAID)
    await send(pilot, "/pin 2")
    await sees(pilot, "◆ pinned · 2")
    await send(pilot, "/compact")
    await sees(pilot, "▼ turns 1, 3 are summarized")


def warm(kv: Kv) -> Kv:
    """A KV as it is late in a long conversation, its turns measured."""
    first = (KvSegment("system", 0, 40), KvSegment("summary", 0, 210, "E3"))
    pinned = tuple(KvSegment(kind, 3, 70, "E2", 0.1, True) for kind in ("user", "answer"))
    turns = tuple(
        KvSegment(kind, turn, size + turn, "E2" if turn < 13 else "E1", (turn * 7 % 10) / 20)
        for turn in range(9, 17)
        for kind, size in (("user", 30), ("answer", 160))
    )
    segments = (*first, *pinned, *turns)
    n_tokens = sum(segment.tokens for segment in segments)
    used = n_tokens * 23_040
    return replace(
        kv,
        tokens=n_tokens,
        used_bytes=used,
        reserved_bytes=used + (3 << 20),
        second_bytes=5 << 20,
        segments=segments,
    )


@pytest.mark.parametrize("theme", ["chatkv", "chatkv-light"])
def test_marks_map_and_marks_of_the_budget(theme: str, tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await compacted(pilot)
        await say(pilot, "remember")
        app = pilot.app
        assert isinstance(app, ChatkvApp)
        assert app.desk.gauges.kv is not None
        app.desk.hear(warm(app.desk.gauges.kv))

    assert picture(make_app(tmp_path, theme=theme), snap_compare, act, TALL)


@pytest.mark.parametrize("size", [(80, 24), (110, 32)], ids=lambda size: "x".join(map(str, size)))
def test_commands_and_what_was_recalled(size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await compacted(pilot)
        await say(pilot, "remember")
        pilot.app.screen.query_one("TurnView Recollected", Collapsible).collapsed = False
        await send(pilot, "/recall boat")
        await sees(pilot, "goes with your next message")
        await pilot.press("slash")
        await sees(pilot, "/compact [instructions]")

    assert picture(make_app(tmp_path), snap_compare, act, size)


def test_a_compaction_that_runs(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await talk(pilot, *SAID)
        await send(pilot, "/compact slow")
        await sees(pilot, "34/96 tokens")

    assert picture(make_app(tmp_path), snap_compare, act)


def test_the_summary_in_front(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await compacted(pilot)
        await settled(pilot)
        await send(pilot, "/summary")
        await sees(pilot, "stands for turns 1, 3")

    assert picture(make_app(tmp_path), snap_compare, act)


@pytest.mark.parametrize("size", [(40, 14), (110, 34)], ids=lambda size: "x".join(map(str, size)))
def test_a_message_that_is_too_long(size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await talk(pilot, "hello")
        await send(pilot, "huge " + "and long\n" * 2000)
        await sees(pilot, "Keep it as a document")

    assert picture(make_app(tmp_path), snap_compare, act, size)
