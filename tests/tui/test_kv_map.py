"""The map of the KV, its marks, and the gauges that memory moves: plain parts, without a screen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.protocol import Accepted, Compaction, Delta, Error, Kv, KvSegment, Recalled, RecalledRound, Turn
from chatkv.tui.gauges import Gauges, Meter
from chatkv.tui.kv_map import cells, heat, legend, marks
from chatkv.tui.widgets import gauge_line
from chatkv.tui.widgets.activity import spoken
from chatkv.tui.widgets.memory_bar import limit_bytes
from chatkv.tui.widgets.sidebar import accounted

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
        st.sampled_from(["system", "summary", "user", "thought", "answer", "wrapper"]),
        st.integers(0, 99),
        st.integers(0, 3000),
        st.sampled_from(["E0", "E1", "E2", "E3"]),
        st.floats(0, 1),
        st.booleans(),
    ),
    max_size=12,
)


@given(SEGMENTS, st.integers(0, 80))
def test_the_map_is_as_wide_as_asked_and_hides_nothing_that_matters(
    segments: list[KvSegment], width: int
) -> None:
    line = cells(segments, width)
    held = [segment for segment in segments if segment.tokens]
    assert len(line) == (width if held else 0)
    assert len(heat(line)) in (0, len(line))
    rare = [segment for segment in held if segment.pinned or segment.kind == "summary"]
    if width >= 40 and len(rare) == 1:
        assert {cell.look for cell in line} & {"pinned", "summary"}


@given(st.integers(1, 40), st.integers(1, 40))
def test_segments_take_cells_by_their_tokens(first: int, second: int) -> None:
    line = cells([KvSegment("user", 1, first), KvSegment("answer", 1, second)], first + second)
    assert [cell.look for cell in line] == ["asked"] * first + ["answered"] * second


def test_tiers_pins_and_kinds_differ_by_glyph() -> None:
    kinds = [("user", False), ("answer", False), ("answer", True)]
    for kind, pinned in kinds:
        glyphs = [cells([KvSegment(kind, 1, 1, tier, 0, pinned)], 1)[0].glyph for tier in ("E0", "E2", "E3")]
        assert len(set(glyphs)) == 3, (kind, pinned)
    exact = {cells([KvSegment(kind, 1, 1, "E1", 0, pinned)], 1)[0].glyph for kind, pinned in kinds}
    assert len(exact) == 3


def test_heat_is_shown_in_eighths_of_the_hottest_once_there_is_any() -> None:
    line = cells([KvSegment("user", 1, 1, "E0", 0.1), KvSegment("user", 2, 1, "E0", 0.4)], 2)
    assert heat(line) == "▂█"
    assert heat(cells([KvSegment("user", 1, 5)], 5)) == ""


def test_the_legend_names_what_is_there_and_fits_the_sidebar() -> None:
    assert [word for _, _, word in legend(cells([KvSegment("user", 1, 5)], 5))] == ["turns"]
    kinds = (("summary", "E3", False), ("user", "E2", False), ("user", "E0", True))
    whole = cells([KvSegment(kind, 1, 9, tier, 0, pinned) for kind, tier, pinned in kinds], 30)
    assert [word for _, _, word in legend(whole)] == ["turns", "summary", "pinned", "near"]
    assert len("  ".join(f"{glyph} {word}" for glyph, _, word in legend(whole))) <= 37


def test_marks_stand_where_the_limit_says() -> None:
    line = marks(KV, 40)
    assert [at + 1 for at, glyph in enumerate(line) if glyph == "▴"] == [16, 28, 36]
    assert line.split() == ["target▴", "soft▴", "hard▴"]
    assert marks(replace(KV, hard_tokens=0), 40) == ""


@given(st.integers(1, 60), st.tuples(*[st.integers(0, 9000)] * 3), st.integers(1, 9000))
def test_marks_never_break_the_line(width: int, where: tuple[int, int, int], limit: int) -> None:
    kv = replace(
        KV, limit_tokens=limit, target_tokens=where[0], soft_tokens=where[1], hard_tokens=where[2] + 1
    )
    line = marks(kv, width)
    assert len(line) == width
    assert "▴" in line


def test_the_bar_is_as_long_as_the_smaller_limit() -> None:
    assert limit_bytes(KV) == 2000 << 10
    assert limit_bytes(replace(KV, limit_tokens=0)) == 64 << 20


def test_all_bytes_are_accounted_for_in_words() -> None:
    assert (
        accounted(replace(KV, weights_bytes=269 << 20, rss_bytes=3 << 30))
        == "weights 269 MiB · process 3.0 GiB"
    )
    assert accounted(KV) == ""


@pytest.mark.parametrize(("tokens", "words"), [(1399, ""), (1400, "over soft"), (1800, "over hard")])
def test_the_one_line_says_which_mark_is_passed(tokens: int, words: str) -> None:
    line = gauge_line.spoken(Gauges(kv=replace(KV, tokens=tokens)))
    assert ("over" in line) is bool(words)
    assert words in line


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
    assert spoken(meter.gauges) == ("summarizing turns 1–2 · 34/96 tokens", 34, 96, "Esc stops")
    meter.on_event(Compaction("rebuilding", "idle", (1, 2)))
    assert spoken(meter.gauges) == ("reading the summary", 0, 0, "")
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
