"""The plain parts of the app: numbers, inert text, blocks of Markdown, pastes, bars, gauges, the worker's command."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chatkv.client import WorkerClient
from chatkv.config import Config, SamplingConfig
from chatkv.protocol import Accepted, Delta, Event, Kv, Loading, Notice, Prefill, Ready, Turn
from chatkv.tui import units
from chatkv.tui.behind.launch import usual_worker_argv
from chatkv.tui.behind.link import Died, Left, Link, Started
from chatkv.tui.inert import inert, one_line
from chatkv.tui.memory.gauges import TurnRow
from chatkv.tui.memory.meter import Meter
from chatkv.tui.prose.blocks import BlockSplitter
from chatkv.tui.widgets.memory import bar
from chatkv.tui.widgets.memory.turns_table import line, totals
from chatkv.tui.widgets.talk.turn import clipped
from chatkv.tui.writing.pastes import Pastes, from_terminal
from tui.driving import places

PIECES = (
    *(
        "# h\n",
        "text ",
        "more\n",
        "\n",
        "- a\n",
        "  - b\n",
        "1. x\n",
        "> q\n",
        "```py\n",
        "x = 1\n",
        "```\n",
        "~~~\n",
    ),
    *(
        "| a | b |\n",
        "|--|--|\n",
        "| 1 | 2 |\n",
        "***\n",
        "---\n",
        "    code\n",
        "*em* ",
        "`c` ",
        "日本\n",
        "+",
        "\t",
    ),
)
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
_HTML = MarkdownIt("commonmark", {"html": False}).enable("table")


@given(st.text())
@example("\x00\x1b[2J\x7f\x9b\u202e\ud800\r\n\t")
def test_inert_text_has_no_control_characters_and_keeps_its_length(text: str) -> None:
    shown = inert(text)
    assert len(shown) == len(text)
    assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    shown.encode()
    assert "\n" not in one_line(text)


@given(MARKDOWN, st.integers(1, 9))
def test_blocks_lose_nothing_and_render_as_the_whole(source: str, step: int) -> None:
    splitter, html, sources = BlockSplitter(), [], []
    for at in range(0, len(source), step):
        for block in splitter.feed(source[at : at + step]):
            html.append(_HTML.render(block.source))
            sources.append(block.source)
    sources.append(splitter.tail.source)
    html.append(_HTML.render(splitter.tail.source))
    assert "".join(sources) == source
    assert "".join(html) == _HTML.render(source)


def test_a_long_code_block_is_cut_so_that_each_piece_is_small() -> None:
    splitter, body = BlockSplitter(), "".join(f"line {n}\n" for n in range(500))
    blocks = [block for part in ("```py\n", *body.splitlines(keepends=True)) for block in splitter.feed(part)]
    assert len(blocks) > 10
    assert all(block.joined for block in blocks[1:])
    assert len(splitter.tail.source.split("\n")) < 50
    code = [block.source.removeprefix("```py\n").removesuffix("```\n") for block in blocks]
    assert "".join(code) + splitter.tail.source.removeprefix("```py\n") == body


@given(st.text(alphabet=st.sampled_from("a\n\r\t\x0b\u2028 é⟦"), max_size=300), st.text(max_size=5))
def test_pastes_are_exact(text: str, around: str) -> None:
    pastes = Pastes()
    shown = pastes.take(text)
    assert pastes.expand(around + shown + around) == around + text + around
    assert shown.splitlines() == shown.split("\n") or not shown or shown.endswith("\n")


def test_a_large_paste_is_a_label_with_its_size() -> None:
    pastes = Pastes()
    label = pastes.take("x\n" * 20_000)
    assert label == "⟦paste 1 · 20,001 lines · 39.1 KiB⟧"
    assert pastes.expand(f"a{label}b") == "a" + "x\n" * 20_000 + "b"


def test_newlines_that_terminals_change_are_changed_back() -> None:
    assert from_terminal("a\rb") == "a\nb"
    assert from_terminal("a\r\nb") == "a\r\nb"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (9999, "9999"),
        (10_000, "10.0k"),
        (99_949, "99.9k"),
        (123_456, "123k"),
        (999_999, "1.0M"),
        (45_600_000, "45.6M"),
    ],
)
def test_counts_fit_five_cells(count: int, text: str) -> None:
    assert units.compact(count) == text


@given(st.integers(0, 10**8), st.floats(0, 9999), st.floats(1e-4, 100))
def test_a_line_of_the_table_has_37_cells(count: int, wait_s: float, tpot_s: float) -> None:
    row = TurnRow(7, count, count, count, count, wait_s, tpot_s)
    assert len(line(row)) == 37
    assert len(totals([row, row])) == 37


def test_totals_add_up_and_weigh_rates_by_tokens() -> None:
    rows = [TurnRow(1, 0, 0, 10, 11, 0.2, 0.1), TurnRow(2, 21, 2, 8, 31, 0.4, 0.02), TurnRow(3)]
    assert totals(rows).split() == ["Σ", "21", "2", "18", "42", "0.30", "25.0"]


@given(st.floats(0, 1e12), st.floats(0, 1e12), st.floats(0, 1e12), st.integers(0, 200))
def test_bars_are_as_wide_as_asked(used: float, more: float, budget: float, width: int) -> None:
    parts = bar.memory(used, used + more, budget, width)
    assert sum(len(text) for _, text in parts) == width
    assert sum(map(len, bar.progress(used, budget, width))) == width
    if used > 0 and budget > 0 and width > 0:
        assert parts[0][0] == "used", "what is used is never invisible"


@pytest.mark.parametrize(
    ("age_s", "text"),
    [(60, "11:59"), (86_400, "yesterday 12:00"), (3 * 86_400, "Sun 12:00"), (9 * 86_400, "2024-02-26")],
)
def test_dates_are_as_exact_as_one_needs(age_s: int, text: str) -> None:
    noon = time.mktime((2024, 3, 6, 12, 0, 0, 0, 0, -1))
    assert units.when(noon - age_s, noon) == text


def test_a_long_prompt_is_clipped_on_screen_with_its_size() -> None:
    assert clipped("a\tb") == "a\tb"
    shown = clipped("word\n" * 5000)
    assert shown.count("\n") < 70
    assert shown.endswith("the whole message: 5,001 lines, 24.4 KiB")


class Clock:
    """Seconds that pass when told to."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def phase_of(meter: Meter) -> str:
    return meter.gauges.phase


def test_gauges_follow_a_turn() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.on_event(Loading("weights", 1, 2))
    assert phase_of(meter) == "loading"
    meter.on_event(Ready("m", "cpu", "bf16", 8192, 10, 1.0))
    meter.ask()
    meter.on_event(Accepted(1, 1, 2, "hi"))
    clock.now_s += 0.5
    meter.on_event(Prefill(6, 9, reused=4, prefilled_early=2))
    assert (phase_of(meter), meter.gauges.current) == (
        "prefill",
        TurnRow(1, 4, 2, prefilled=6, kv_tokens=12, live=True),
    )
    meter.on_event(Prefill(9, 9, reused=4, prefilled_early=2))
    for n in (1, 2, 3):
        meter.on_event(Delta(2, "x", n))
        clock.now_s += 0.1
    current = meter.gauges.current
    assert current is not None
    assert (current.decoded, current.kv_tokens, current.ttft_s) == (3, 18, 0.5)
    assert current.tpot_s == pytest.approx(0.1)
    meter.on_event(Kv(11, 110, 200, 1000, 8192))
    assert meter.gauges.current is not None
    assert meter.gauges.current.kv_tokens == 11, "an exact count beats the estimate"
    meter.on_event(Turn(1, 1, 2, "stop", 0, 9, 0, 3, 0, 0.4, 0.1, 120, 200, 1000, 12))
    assert meter.gauges.rows == (TurnRow(1, 0, 0, 9, 3, 0.4, 0.1, 12),)
    assert phase_of(meter) == "idle"
    assert not meter.on_event(Notice("nothing moves"))
    meter.on_event(Prefill(12, 14, early=True))
    assert phase_of(meter) == "idle", "idle work is no turn"
    meter.on_death(final=False)
    assert (phase_of(meter), meter.gauges.kv) == ("down", None)


def test_the_worker_gets_what_was_typed(tmp_path: Path) -> None:
    config = Config(model="./m", sampling=SamplingConfig(stop=("a", "b")))
    overrides = {
        "model": "./m",
        "sampling.stop": ("a", "é"),
        "load.trust_remote_code": True,
        "sampling.seed": None,
    }
    assert usual_worker_argv(config, places(tmp_path), overrides) == [
        *[sys.executable, "-m", "chatkv", "--model", "./m", "--db", str(tmp_path / "chatkv.db")],
        *["--set", 'sampling.stop=["a", "é"]', "--set", "load.trust_remote_code=true"],
        *["stdio", "--stop-at-end"],
    ]


async def test_a_model_that_cannot_be_loaded_is_not_tried_again_and_again(tmp_path: Path) -> None:
    script = (
        """print('{"type": "error", "message": "No such model.", "hint": "Check it.", "command": "load"}')"""
    )
    link = Link(running(script, tmp_path), "m", Clock())
    news = [item async for item in _first(link, 3)]
    assert news[0] == Started()
    assert news[2] == Died("No such model. Check it.", final=True)
    await link.close()


async def test_deaths_far_apart_are_always_followed_by_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    link = Link(running("raise SystemExit(3)", tmp_path), "m", clock)
    seen = []
    async for item in _first(link, 10):
        clock.now_s += 31
        seen.append(item)
    assert seen == [Started(), Died("exit code 3", final=False)] * 5
    await link.close()


def running(script: str, folder: Path) -> Callable[[str], WorkerClient]:
    """A worker that is this script, whatever the model."""
    return lambda model: WorkerClient([sys.executable, "-c", script], log_file=folder / "log")


async def _first(link: Link, n: int) -> AsyncIterator[Event | Started | Left | Died]:
    news = link.news()
    for _ in range(n):
        yield await asyncio.wait_for(anext(news), 20)
    await news.aclose()
