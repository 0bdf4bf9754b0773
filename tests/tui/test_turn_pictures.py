"""Pictures of turns: marked, thinking, found words, each way in which one can stand, Markdown at three widths."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from chatkv.protocol import Marks, Thought, Turn, TurnMark
from chatkv.store import Store
from chatkv.tui.app import ChatkvApp
from chatkv.tui.widgets.talk.recollected import Recollected
from tui.driving import NOON, chat_of, make_app, places, ready, say, sees, send, settled, until
from tui.picturing import Compare, picture
from tui.turn_key_checks import marked

DOCUMENT = """## Reading a file

A [link](https://example.org/docs/reading?from=here), <https://example.org> and an ![image](plan.png).

- [x] open it
- [ ] read it, which takes a line that is long enough to be wrapped on a narrow screen
  1. nested
     ```py
     text = file.read_text(encoding="utf-8", errors="replace")  # a long line of code that has to be wrapped
     ```

> Quoted, with `code`
> > and quoted again

| call | cost | what it is good for, in more words than fit |
|:-----|-----:|:-------------------------------------------:|
| `read_text` | one read | everything at once |
| `splitlines` | one pass | lines without their ends |

$$
E = \\sqrt{m^2 c^4}
$$

---

日本語 👩‍👩‍👧‍👦 [bold]not markup[/bold] anunbreakablewordthatislongerthananarrowscreeniswideandgoeson
"""


def app_of(pilot: Pilot[None]) -> ChatkvApp:
    app = pilot.app
    assert isinstance(app, ChatkvApp)
    return app


@pytest.mark.parametrize("size", [(40, 64), (80, 48), (200, 44)], ids=lambda size: str(size[0]))
def test_markdown_at_every_width(size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    with Store.open(places(tmp_path).database, clock=partial(float, NOON - 300)) as store:
        session = store.create_session("tiny-echo", "Markdown")
        answer = store.add_exchange(session.id, None, "How do I read a file?", 1, "tiny-echo")[1]
        store.update_answer(answer.id, text=DOCUMENT, thought="", ids=(), answer_start=0, status="complete")

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await sees(pilot, "anunbreakable")

    assert picture(make_app(tmp_path, resume="last", sidebar=False), snap_compare, act, size)


@pytest.mark.parametrize("theme", ["chatkv", "chatkv-light"])
def test_a_marked_turn_and_its_keys(theme: str, tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await say(pilot, "remember")
        await say(pilot, "code")
        await marked(pilot, 2)

    assert picture(make_app(tmp_path, theme=theme), snap_compare, act, (150, 34))


@pytest.mark.parametrize("unfolded", [False, True], ids=["folded", "unfolded"])
def test_a_model_that_thinks(unfolded: bool, tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await say(pilot, "think")
        if unfolded:
            await pilot.press("ctrl+t")
        await send(pilot, "wait")
        await until(pilot, lambda: chat_of(pilot).board.turns[-1].answer_id is not None)
        answer_id = chat_of(pilot).board.turns[-1].answer_id
        assert answer_id is not None
        app_of(pilot).desk.hear(Thought(answer_id, "Let me see. A [bold] thought comes first.", 9))
        await sees(pilot, "● thinking · 8 words so far")

    assert picture(make_app(tmp_path), snap_compare, act)


def test_found_words(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await say(pilot, "say a *kingfisher* by the river, and another kingfisher")
        await say(pilot, "Kingfisher?")
        await pilot.press("ctrl+f", *"kingf", "enter")
        await sees(pilot, "2/6")

    assert picture(make_app(tmp_path), snap_compare, act)


def test_every_way_a_turn_can_stand(tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        for text in ("one", "two", "remember", "four"):
            await say(pilot, text)
        await send(pilot, "slow five")
        await sees(pilot, "You said: slow")
        turns = chat_of(pilot).board.turns
        ids = [(turn.user_id or 0, turn.answer_id or 0) for turn in turns]
        app_of(pilot).desk.hear(Turn(5, *ids[-1], "context", 40, 9, 0, 8, 0, 0.2, 0.04, 1, 1, 1, 57))
        names = ("archived", "summarized", "pinned", "verbatim", "verbatim")
        marks = Marks(
            tuple(TurnMark(n, ids[n - 1][0], name) for n, name in enumerate(names, start=1))  # type: ignore[arg-type]
        )
        app_of(pilot).desk.hear(marks)
        await sees(pilot, "▪ the context is full")
        pilot.app.screen.query_one("TurnView Recollected", Recollected).collapsed = False
        await settled(pilot)

    assert picture(make_app(tmp_path), snap_compare, act, (110, 46))
