"""The map of the KV, its marks, and the gauges that memory moves: plain parts, without a screen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.protocol import Accepted, Compaction, Delta, Error, Kv, KvSegment, Recalled, RecalledRound, Turn
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.memory.kv_map import FREE, NEW, Layout, grown, heat, legend, marks, spoken
from chatkv.tui.memory.meter import Meter
from chatkv.tui.widgets import activity
from chatkv.tui.widgets.memory import gauge_line
from chatkv.tui.widgets.memory.kv_map import held_tokens
from chatkv.tui.widgets.memory.memory_bar import limit_bytes
from chatkv.tui.widgets.memory.sidebar_words import accounted

KV = Kv(
    *(1000, 1000 << 10, 2 << 20, 64 << 20, 8192),
    limit_tokens=2000,
    soft_tokens=1400,
    hard_tokens=1800,
    target_tokens=800,
)
SEGMENTS = st.lists(
    st.builds(
        KvSegment,
        st.sampled_from(["system", "summary", "user", "thought", "answer", "wrapper", "draft"]),
        st.integers(0, 99),
        st.integers(0, 3000),
        st.sampled_from(["E0", "E1", "E2", "E3"]),
        st.floats(0, 1),
        st.booleans(),
    ),
    max_size=12,
)


@given(SEGMENTS, st.integers(0, 80), st.integers(0, 9000), st.integers(0, 500))
def test_the_map_is_as_wide_as_asked_and_hides_nothing_that_matters(
    segments: list[KvSegment], width: int, total: int, n_new: int
) -> None:
    layout = Layout(segments)
    base = layout.cells(width, total)
    held = [segment for segment in segments if segment.tokens]
    assert len(base) == (width if held or total else 0)
    assert len(heat(base)) in (0, len(base))
    rare = {segment.kind for segment in held if segment.kind in ("summary", "draft") and not segment.pinned}
    if width >= 40 and len(rare) == 1 and len(held) < 3:
        assert {cell.look for cell in base} >= rare
    whole = max(total, layout.tokens + n_new)
    line = grown(layout.cells(width, whole), layout.tokens, n_new, whole)
    assert len(line) == (width if whole else 0)
    assert (NEW in line) is bool(line and n_new)
    for at in range(len(line)):
        assert spoken(layout.within(at, width, whole))


@given(st.integers(1, 40), st.integers(1, 40))
def test_segments_take_cells_by_their_tokens(first: int, second: int) -> None:
    layout = Layout([KvSegment("user", 1, first), KvSegment("answer", 1, second)])
    line = layout.cells(first + second)
    assert [cell.look for cell in line] == ["asked"] * first + ["answered"] * second
    assert layout.cells(first + second + 3, first + second + 3)[-3:] == (FREE,) * 3


def drawn(segment: KvSegment) -> str:
    return Layout([segment]).cells(1)[0].glyph


def test_tiers_pins_and_kinds_differ_by_glyph() -> None:
    kinds = [("user", False), ("answer", False), ("answer", True)]
    for kind, pinned in kinds:
        glyphs = [drawn(KvSegment(kind, 1, 1, tier, 0, pinned)) for tier in ("E0", "E2", "E3")]
        assert len(set(glyphs)) == 3, (kind, pinned)
    exact = {drawn(KvSegment(kind, 1, 1, "E1", 0, pinned)) for kind, pinned in (*kinds, ("draft", False))}
    assert len(exact | {NEW.glyph, FREE.glyph}) == 6


def test_recalled_text_lies_before_its_question() -> None:
    line = Layout([KvSegment("user", 3, 10), KvSegment("answer", 3, 4)], {3: 6}).cells(14)
    assert [cell.look for cell in line] == ["recalled"] * 6 + ["asked"] * 4 + ["answered"] * 4


def test_three_hundred_turns_are_gathered_and_named() -> None:
    turns = [KvSegment(kind, turn, 20) for turn in range(1, 301) for kind in ("user", "answer")]
    turns[0] = replace(turns[0], tier="E2")
    layout = Layout([KvSegment("system", 0, 400), *turns])
    line = layout.cells(37)
    assert {cell.look for cell in line} == {"system", "answered"}
    assert [cell.glyph for cell in line if cell.glyph == "▒"] == ["▒"], "the least exact one is seen"
    assert "Turns 292–300 · 340 tokens" in spoken(layout.within(36, 37))


@pytest.mark.parametrize(
    ("below", "words"),
    [
        ([], "Room that is held for the next tokens."),
        ([KvSegment("system", 0, 40)], "System · 40 tokens\nE0"),
        ([KvSegment("user", 4, 1, "E2", 0.25, True)], "Turn 4: question · 1 token · pinned\nE2"),
        ([KvSegment("recalled", 4, 9), KvSegment("user", 4, 2)], "Turn 4: recalled and question · 11 tokens"),
        ([KvSegment("draft", 0, 9)], "Your draft, read ahead · 9 tokens"),
    ],
)
def test_what_lies_under_the_mouse_is_said(below: list[KvSegment], words: str) -> None:
    assert spoken(below).startswith(words)
    assert ("25 % of recent attention" in spoken(below)) is any(run.heat for run in below)


def test_the_map_spans_what_is_held_but_shows_the_held_tokens_large() -> None:
    kv = replace(KV, tokens=100, used_bytes=100 << 10, reserved_bytes=160 << 10)
    assert held_tokens(kv, 100) == 160
    assert held_tokens(replace(kv, reserved_bytes=64 << 20), 100) == 256
    assert held_tokens(kv, 170) >= 170
    assert held_tokens(replace(kv, tokens=0), 12) == 12


def test_heat_is_shown_in_eighths_of_the_hottest_once_there_is_any() -> None:
    line = Layout([KvSegment("user", 1, 1, "E0", 0.1), KvSegment("user", 2, 1, "E0", 0.4)]).cells(2)
    assert heat(line) == "▂█"
    assert heat(Layout([KvSegment("user", 1, 5)]).cells(5)) == ""


def test_the_legend_names_what_is_there_as_far_as_it_fits() -> None:
    assert [word for _, _, word in legend(Layout([KvSegment("user", 1, 5)]).cells(5), 37)] == ["turns"]
    kinds = (("summary", "E3", False), ("user", "E2", False), ("user", "E0", True))
    whole = Layout([KvSegment(kind, 1, 9, tier, 0, pinned) for kind, tier, pinned in kinds]).cells(30)
    assert [word for _, _, word in legend(whole, 37)] == ["turns", "summary", "pinned", "near"]
    assert [word for _, _, word in legend(whole, 20)] == ["turns", "summary"]


def test_marks_stand_where_the_limit_says_and_say_whether_they_are_passed() -> None:
    line = marks(KV, 40)
    assert [at + 1 for at, glyph in enumerate(line) if glyph in "▴▵"] == [16, 28, 36]
    assert line.split() == ["target▴", "soft▵", "hard▵"]
    assert marks(replace(KV, tokens=1800), 40).split() == ["target▴", "soft▴", "hard▴"]
    assert marks(replace(KV, hard_tokens=0), 40) == ""


@given(st.integers(1, 60), st.tuples(*[st.integers(0, 9000)] * 3), st.integers(1, 9000))
def test_marks_never_break_the_line(width: int, where: tuple[int, int, int], limit: int) -> None:
    kv = replace(
        KV, limit_tokens=limit, target_tokens=where[0], soft_tokens=where[1], hard_tokens=where[2] + 1
    )
    line = marks(kv, width)
    assert len(line) == width
    assert set(line) & set("▴▵")


def test_the_bar_is_as_long_as_the_smaller_limit() -> None:
    assert limit_bytes(KV) == 2000 << 10
    assert limit_bytes(replace(KV, limit_tokens=0)) == 64 << 20


def test_all_bytes_are_accounted_for_in_words() -> None:
    whole = replace(KV, weights_bytes=269 << 20, rss_bytes=3 << 30, warm_bytes=4 << 20, warm_sessions=1)
    assert accounted(whole) == "weights 269 MiB · 1 other session kept warm 4.0 MiB · process 3.0 GiB"
    assert accounted(KV) == ""


@pytest.mark.parametrize(("tokens", "words"), [(1399, ""), (1400, "over soft"), (1800, "over hard")])
def test_the_one_line_says_which_mark_is_passed(tokens: int, words: str) -> None:
    line = gauge_line.spoken(Gauges(kv=replace(KV, tokens=tokens)))
    assert ("over" in line) is bool(words)
    assert words in line


@given(st.integers(16, 120), st.integers(0, 90_000))
def test_the_one_line_drops_what_matters_least(width: int, tokens: int) -> None:
    meter = Meter(lambda: 0.0)
    meter.on_event(replace(KV, tokens=tokens, used_bytes=tokens << 10))
    meter.on_event(Accepted(1, 1, 2, "hi"))
    line = gauge_line.spoken(meter.gauges, width)
    assert line.startswith("KV ")
    assert len(line) <= max(width, len(gauge_line.spoken(meter.gauges, 0)))


def test_gauges_follow_a_compaction_and_a_recall() -> None:
    meter = Meter(lambda: 0.0)
    meter.on_event(Accepted(1, 1, 2, "hi"))
    meter.on_event(Recalled(1, 41, 0.0, (RecalledRound(1, 1, "x"),)))
    assert meter.gauges.current is not None
    assert meter.gauges.current.recalled == 41
    meter.on_event(replace(KV, segments=(KvSegment("user", 1, 1000),)))
    meter.on_event(Turn(1, 1, 2, "stop", 0, 9, 0, 3, 41, 0.4, 0.1, 1 << 20, 2 << 20, 64 << 20, 1003))
    assert meter.gauges.rows[0].recalled == 41
    assert meter.gauges.kv is not None
    assert (meter.gauges.kv.tokens, meter.gauges.kv.limit_tokens) == (1003, 2000), "marks outlive the turn"
    assert not meter.on_event(Recalled(2, 9, 0.0, by_hand=True))
    meter.on_event(Compaction("summarizing", "full", (1, 2), 34, 96))
    assert activity.spoken(meter.gauges) == (
        "summarizing turns 1–2 · 34/96 tokens",
        34,
        96,
        "⟨chat.stop⟩ stops",
    )
    meter.on_event(Compaction("rebuilding", "idle", (1, 2)))
    assert activity.spoken(meter.gauges) == ("reading the summary", 0, 0, "")
    meter.on_event(Compaction("done", "full", (1, 2)))
    assert (meter.gauges.compaction, meter.gauges.compactions) == (None, (1,))
    for end in (Error("oom", "", "compact"), Delta(2, "x", 1)):
        meter.on_event(Compaction("summarizing", "full", (1, 2), 34, 96))
        meter.on_event(end)
        assert meter.gauges.compaction is None, end
    meter.on_event(Compaction("summarizing", "full", (1, 2), 34, 96))
    meter.on_death(final=False)
    assert meter.gauges.compaction is None
    meter.open("other", (), (4,))
    assert meter.gauges.compactions == (4,)
