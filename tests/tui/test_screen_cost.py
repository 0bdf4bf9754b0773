"""What keeps drawing cheap while an answer streams: what changed is drawn, and nothing else; the screen is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual._compositor import ChopsUpdate, Compositor
from textual.app import App, ComposeResult
from textual.geometry import Offset, Region
from textual.pilot import Pilot
from textual.selection import Selection
from textual.strip import Strip

from chatkv.tui.prose.blocks import Block, BlockSplitter
from chatkv.tui.talk.exchange import Exchange
from chatkv.tui.widgets.narrow import NarrowCompositor
from chatkv.tui.widgets.pace import Pace
from chatkv.tui.widgets.talk.answer import Answer
from chatkv.tui.widgets.talk.sheet import Sheet
from chatkv.tui.widgets.talk.turn import TurnView
from tui.driving import make_app, ready, say, settled, shown, transcript
from tui.fake_lines import CODE

SIZE = (110, 32)
LIST = "".join(f"{n}. point **{n}**\n   and more\n" for n in range(1, 9))


class Page(App[None]):
    """One answer, and a count of layouts."""

    CSS = "Answer { width: 1fr; height: auto; }"

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.answer = Answer(text)
        self.n_layouts = 0

    def compose(self) -> ComposeResult:
        yield self.answer

    def on_mount(self) -> None:
        def count(_: object) -> None:
            self.n_layouts += 1

        self.screen.screen_layout_refresh_signal.subscribe(self.answer, count, immediate=True)


async def grow(page: Page, pilot: Pilot[None], text: str) -> int:
    """Stream `text`; how many layouts it took."""
    before = page.n_layouts
    page.answer.add(text)
    page.answer.flush()
    await pilot.pause()
    await pilot.pause()
    return page.n_layouts - before


async def test_a_token_takes_no_layout_and_a_new_line_takes_one() -> None:
    page = Page()
    async with page.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        assert await grow(page, pilot, "A first") == 1
        assert await grow(page, pilot, " word") == 0
        assert await grow(page, pilot, " and") == 0
        assert await grow(page, pilot, "\n\nnext") == 1
        assert "A first word and" in shown(pilot)
        assert "next" in shown(pilot)


async def test_an_answer_is_one_widget_however_long(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "code")
        await settled(pilot)
        answer = transcript(pilot).query_one(Answer)
        assert not answer.children
        assert "def lines(file: Path) -> list[str]:" in shown(pilot)
        assert "read_text decodes as UTF-8" in shown(pilot)


def drawn_as(block: Block, width: int) -> list[Strip]:
    """A line of the sheet for each of the source."""
    return [Strip.blank(min(width, len(line))) for line in block.source.splitlines()]


def test_finished_blocks_are_drawn_once_and_open_ones_when_they_change() -> None:
    sheet, splitter = Sheet(), BlockSplitter()
    asked: list[Block] = []

    def draw(block: Block, width: int) -> list[Strip]:
        asked.append(block)
        return drawn_as(block, width)

    text = CODE * 6
    for at in range(0, len(text), 5):
        sheet.put(splitter.feed(text[at : at + 5]), splitter.open)
        sheet.lay(80, draw)
    assert sum(len(block.source) for block in asked) < 14 * len(text), "not the whole of it each time"
    n_asked = len(asked)
    assert not sheet.lay(80, draw)
    assert len(asked) == n_asked
    assert sheet.lay(40, draw) or len(asked) > n_asked, "another width is drawn anew"


@given(st.sampled_from([CODE, LIST, "~~~\na\n\nb\n~~~\n\n- x\n- y\n", "text\n\n" + LIST]), st.integers(1, 9))
def test_the_pieces_of_the_tail_are_the_tail(source: str, step: int) -> None:
    splitter, n_split = BlockSplitter(), 0
    for at in range(0, len(source), step):
        splitter.feed(source[at : at + step])
        pieces, tail = splitter.open, splitter.tail
        if len(pieces) == 2:
            n_split += 1
            last = pieces[1].source.removeprefix(tail.source.split("\n")[0] + "\n")
            assert pieces[0].source + last == tail.source
            assert pieces[1].joined
        elif pieces:
            assert pieces[0].source.rstrip() == tail.source.rstrip()
        else:
            assert not tail.source
    assert n_split, "the examples have whole lines of code and whole items of lists"


def parts(update: ChopsUpdate | None) -> list[tuple[int, int, str]]:
    """What an update writes, cell by cell of the spans: line, column, text with styles."""
    assert update is not None
    found = []
    for y, x1, x2 in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=True):
            if x < x2 and end > x1:
                assert strip is not None, "a hole in what was to be drawn"
                cells = strip.crop(max(0, x1 - x), x2 - x)
                found.append((y, max(x, x1), str([(part.text, part.style) for part in cells])))
    return found


@pytest.mark.parametrize(
    "changed",
    [
        [Region(4, 20, 60, 1)],
        [Region(0, 0, 110, 1), Region(70, 5, 30, 20)],
        [Region(69, 0, 41, 32)],
        [Region(3, 28, 20, 4), Region(80, 10, 9, 2), Region(0, 3, 110, 3)],
    ],
)
async def test_what_is_drawn_narrowly_is_what_textual_draws(tmp_path: Path, changed: list[Region]) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "code")
        await settled(pilot)
        compositor = pilot.app.screen._compositor
        assert isinstance(compositor, NarrowCompositor)
        compositor._dirty_regions = set(changed)
        narrow = parts(compositor.render_partial_update())
        compositor._dirty_regions = set(changed)
        assert narrow == parts(Compositor.render_partial_update(compositor))
        assert narrow


async def test_text_of_an_answer_can_be_selected() -> None:
    page = Page("One **two** three\n\nfour 日本 six")
    async with page.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        answer = page.answer
        rows = shown(pilot).split("\n")
        first = next(y for y, row in enumerate(rows) if "One two" in row)
        got = answer.get_selection(Selection(Offset(4, first), Offset(7, first + 2)))
        assert got == ("two three\n\nfour 日本"[: len("two three\n\nfour 日本")], "\n")
        page.screen.selections = {answer: Selection(Offset(4, first), Offset(7, first))}
        line = answer.render_line(first)
        marked = page.screen.get_component_rich_style("screen--selection").bgcolor
        found = [part.text for part in line if part.style and part.style.bgcolor == marked]
        assert "".join(found) == "two"
        assert line.text.rstrip() == "One two three"


def test_frames_are_fewer_where_they_cost_much() -> None:
    now, spent = [100.0], [0.0]
    pace = Pace(lambda: now[0], lambda: spent[0])
    assert pace.wait_s() < 0.01, "the first words at once"
    pace.draw()
    cheap = pace.wait_s()
    assert 0.03 < cheap < 0.1
    for _ in range(40):
        now[0], spent[0] = now[0] + 0.1, spent[0] + 0.02
        pace.draw()
    assert 0.1 < pace.wait_s() <= 0.2
    now[0], spent[0] = now[0] + 3600, spent[0] + 60
    assert pace.wait_s() < 0.01
    pace.draw()
    assert pace.wait_s() <= 0.2, "what was spent in a pause does not count"


async def test_a_long_sitting_does_not_mount_more_and_more(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        page = transcript(pilot)
        turns: list[Exchange] = []
        for n in range(1, 70):
            turns.append(Exchange(n, f"question {n}", f"answer {n}", turn=n))
            page.show(turns[-1], tuple(turns))
        await settled(pilot)
        assert len(page.query(TurnView)) < 50
        assert "answer 69" in shown(pilot)
        assert page.at_end
