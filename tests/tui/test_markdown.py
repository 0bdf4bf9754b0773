"""Markdown on the screen: however it came, it ends as if it had come at once; nothing of it is obeyed or lost."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.style import Style
from textual.app import App, ComposeResult
from textual.geometry import Region
from thorough import examples

from chatkv.tui.app import ChatkvApp
from chatkv.tui.inert import inert
from chatkv.tui.prose.fences import code_blocks, matching_block
from chatkv.tui.prose.prose import Palette, Prose
from chatkv.tui.settings.themes import DARK
from chatkv.tui.talk.exchange import Exchange
from chatkv.tui.widgets.talk.answer import Answer
from chatkv.tui.widgets.talk.head import CODE_META
from chatkv.tui.widgets.talk.transcript import Transcript
from chatkv.tui.widgets.talk.turn import TurnView
from tui.documents import DOCUMENTS, controls, streamed

PLAIN = Palette(Style(), Style(), Style(), Style(), Style(), Style(), "github-dark")


class Page(App[None]):
    """A transcript alone."""

    CSS_PATH: ClassVar = [Path(inspect.getfile(ChatkvApp)).parent / file for file in ChatkvApp.CSS_PATH]

    def compose(self) -> ComposeResult:
        self.register_theme(DARK)
        self.theme = DARK.name
        yield Transcript()


def drawn(view: TurnView) -> list[str]:
    """The lines of the answer, with their styles."""
    answer = view.query_one(Answer)
    size = answer.outer_size
    return [repr(list(strip)) for strip in answer.render_lines(Region(0, 0, size.width, size.height))]


async def both(document: str, pieces: Sequence[str], width: int) -> tuple[list[str], list[str]]:
    """The screen of a document that came in pieces, and that of one that came at once."""
    app = Page()
    async with app.run_test(size=(width, 40)) as pilot:
        transcript = app.query_one(Transcript)
        open_turn = Exchange(1, "q", state="streaming", turn=1)
        transcript.show(open_turn, [open_turn])
        await pilot.pause()
        for piece in pieces:
            transcript.stream(1, piece, thought=False)
            transcript.view(1).flush()  # type: ignore[union-attr]
        closed = replace(open_turn, answer=document, state="complete")
        transcript.show(closed, [closed])
        await pilot.pause()
        in_pieces = drawn(transcript.view(1))  # type: ignore[arg-type]
        other = replace(closed, key=2)
        transcript.rebuild([other])
        await pilot.pause()
        return in_pieces, drawn(transcript.view(2))  # type: ignore[arg-type]


@settings(max_examples=examples(12, 40), deadline=None, suppress_health_check=list(HealthCheck))
@given(streamed(), st.sampled_from([38, 80]))
def test_a_document_in_pieces_ends_as_one_that_came_at_once(come: tuple[str, list[str]], width: int) -> None:
    in_pieces, at_once = asyncio.run(both(*come, width))
    assert in_pieces == at_once
    assert in_pieces or not come[0].strip()


def rendered(source: str, width: int = 60) -> str:
    console = Console(width=width, file=None, force_terminal=False)
    lines = console.render_lines(Prose(inert(source), PLAIN), pad=False)
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in lines)


@given(DOCUMENTS, st.integers(8, 120))
def test_no_document_reaches_the_terminal(document: str, width: int) -> None:
    shown = rendered(document, width)
    assert controls(shown.replace("\n", "")) == []


@given(DOCUMENTS)
def test_code_is_copied_exactly(document: str) -> None:
    """Whatever is clicked is a piece of code, and each piece is what was written."""
    blocks = code_blocks(document)
    console = Console(width=60)
    clicks = [
        segment.style.meta[CODE_META]
        for line in console.render_lines(Prose(inert(document), PLAIN))
        for segment in line
        if segment.style is not None and CODE_META in segment.style.meta
    ]
    assert [number for number, _ in clicks] == list(range(len(blocks)))
    for number, begins in clicks:
        found = matching_block(blocks, number, begins)
        assert found == number
        for line in blocks[number].split("\n"):
            assert line.strip("\t ") in document


def test_what_is_written_in_lists_and_quotes_is_copied_without_their_signs() -> None:
    document = "- x\n  ```py\n  a\x1b[31m\tb\n    c\n  ```\n> ```\n> quoted\n> ```\n\n```\nopen\n\nend"
    assert code_blocks(document) == ["a\x1b[31m\tb\n  c", "quoted", "open\n\nend"]


def test_a_code_that_still_grows_is_known_by_its_beginning() -> None:
    blocks = ["one", "two\nlines", "two\nother"]
    assert [matching_block(blocks, n, "two") for n in (1, 2, 0)] == [1, 2, 1]
    assert matching_block(blocks, 0, "none") is None


def test_formulas_tasks_links_and_images_read_well() -> None:
    shown = rendered(
        "\\(a_b + c^*\\) but \\[brackets\\]\n\n$$\n\\frac{1}{2}\n$$\n\n- [ ] a\n- [x] b\n\n"
        "<https://x.org> [https://y.org](https://y.org) [z](https://z.org) ![alt](i.png)\n\n1. one\n2. two"
    )
    for text in (
        "\\(a_b + c^*\\) but [brackets]",
        "$$\n\\frac{1}{2}\n$$",
        "☐ a",
        "☑ b",
        "1. one",
        "▣ alt (i.png)",
    ):
        assert text in shown
    assert "https://x.org https://y.org z (https://z.org)" in shown


def test_no_word_of_a_table_is_lost() -> None:
    long = "unbreakable_identifier_of_some_length"
    words = ["alpha", long, "gamma", "delta"]
    table = f"| {' | '.join(words)} |\n{'|--' * len(words)}|\n| {' | '.join(words)} |\n"
    assert f"alpha  {long}  gamma  delta" in rendered(table, 60)
    assert f"alpha: alpha\n{long}:\n{long}\ngamma: gamma" in rendered(table, 47)
    folded = rendered(table, 50)
    assert sorted("".join(folded.split()).replace("─", "")) == sorted("".join(words * 2))
