"""Escape sequences, markup, overrides of direction and wide characters, in every place where text appears."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Collapsible, Input

from chatkv.config.writing import write_setting
from chatkv.protocol import (
    Delta,
    Error,
    Loading,
    Notice,
    PrefixBreak,
    Recalled,
    RecalledRound,
    Saving,
    Summarized,
)
from chatkv.store import Store
from chatkv.tui.app import ChatkvApp
from chatkv.tui.messages import Updated
from chatkv.tui.screens.ask import NameScreen
from chatkv.tui.screens.models import SpecScreen
from chatkv.tui.screens.sessions import SessionsScreen
from chatkv.tui.talk.exchange import Choose, Update
from chatkv.tui.widgets.writing.completions import Completions
from tui.documents import HOSTILE, controls
from tui.driving import (
    chat_of,
    composer,
    make_app,
    places,
    ready,
    say,
    sees,
    send,
    shown,
    streaming,
    transcript,
    until,
)
from tui.model_shelf import choosing, held, shelve

SIZE = (150, 50)
LITERAL = "[bold]"


def clean(pilot: Pilot[None], place: str, n_literals: int = 1) -> None:
    """Nothing that a terminal obeys is on the screen, and the markup is there to be read."""
    lines = shown(pilot)
    assert controls(lines.replace("\n", "")) == [], place
    assert lines.count(LITERAL) >= n_literals, f"{place}\n{lines}"


def kept(folder: Path) -> int:
    """A session with hostile text in its title, model, question, thought, answer and recalled text; the answer's id."""
    with Store.open(places(folder).database) as store:
        session = store.create_session(f"{LITERAL}{HOSTILE}", f"kingfisher {HOSTILE}")
        user, answer = store.add_exchange(session.id, None, HOSTILE, 1, "tiny-echo")
        store.set_recalled(user.id, HOSTILE)
        text = f"# {HOSTILE}\n\n{HOSTILE} kingfisher\n\n```{HOSTILE}\n{HOSTILE}\n```\n\n| {HOSTILE} |\n|--|\n"
        store.update_answer(answer.id, text=text, thought=HOSTILE, ids=(), answer_start=0, status="complete")
        return answer.id


def app_of(pilot: Pilot[None]) -> ChatkvApp:
    app = pilot.app
    assert isinstance(app, ChatkvApp)
    return app


def update(pilot: Pilot[None], one: Update) -> None:
    """What comes from behind the screen."""
    app_of(pilot).chat.post_message(Updated(one))


async def test_a_turn_and_what_stands_around_it(tmp_path: Path) -> None:
    kept(tmp_path)
    async with make_app(tmp_path, resume="last", model_typed=True).run_test(
        size=SIZE, notifications=True
    ) as pilot:
        await ready(pilot)
        await sees(pilot, "Thoughts ·", "❐ copy", "Held with")
        for fold in transcript(pilot).query(Collapsible):
            fold.collapsed = False
        await pilot.pause()
        clean(pilot, "question, recalled text, thought, heading, text, code, table; title, banner", 8)
        await pilot.press("ctrl+f", *"kingfisher")
        await sees(pilot, "1/1")
        pilot.app.screen.query_one("FindInput", Input).value = HOSTILE
        await pilot.pause()
        clean(pilot, "find bar", 8)
        await pilot.press("escape")


async def test_what_the_worker_says(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await send(pilot, f"slow {HOSTILE}")
        await streaming(pilot)
        clean(pilot, "streamed answer", 2)
        app = app_of(pilot)
        turn = chat_of(pilot).board.turns[0]
        assert turn.answer_id is not None
        rounds = (RecalledRound(1, 2, HOSTILE), RecalledRound(0, 0, HOSTILE, HOSTILE))
        app.desk.hear(Delta(turn.answer_id, HOSTILE * 2, 9))
        app.desk.hear(Recalled(1, 9, 0.1, rounds))
        app.desk.hear(Error(HOSTILE, HOSTILE))
        await sees(pilot, "✗ [bold]")
        transcript(pilot).query(Collapsible).first().collapsed = False
        await pilot.pause()
        clean(pilot, "recalled text, error in its turn, activity, toast", 5)
        for event in (
            Notice(HOSTILE),
            Notice(HOSTILE, "warning"),
            Saving(False, HOSTILE),
            Loading(HOSTILE, 1, 2),
        ):
            app.desk.hear(event)
        app.desk.hear(PrefixBreak(3, HOSTILE, HOSTILE, 9, HOSTILE))
        await pilot.pause(0.6)
        clean(pilot, "notices, banner, prefix break, loading", 5)


async def test_the_screens_in_front(tmp_path: Path) -> None:
    kept(tmp_path)
    async with make_app(tmp_path, resume="last").run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        app = app_of(pilot)
        await pilot.press("ctrl+o")
        await sees(pilot, "1 of 1")
        clean(pilot, "session list and preview", 2)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, NameScreen))
        clean(pilot, "name of a session", 2)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen))
        app.screen.query_one(Input).value = HOSTILE
        await pilot.pause()
        clean(pilot, "filter of the sessions")
        app.screen.query_one(Input).value = ""
        await pilot.press(*"kingfisher")
        await sees(pilot, "In the conversations")
        clean(pilot, "search snippet", 3)
        await pilot.press("escape", "escape")
        update(pilot, Choose("x", HOSTILE, ("head", "document")))
        await until(pilot, lambda: len(app.screen_stack) > 2)
        clean(pilot, "question about a long message")
        await pilot.press("escape")
        app.desk.conversation.memory.summary = Summarized(HOSTILE, (1,), "model", tokens=3, id=1)
        await until(pilot, lambda: app.screen is app.chat)
        composer(pilot).put("/summary")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is not app.chat)
        app.desk.hear(Summarized(HOSTILE, (1,), "model", tokens=3, id=1))
        await sees(pilot, LITERAL)
        clean(pilot, "summary")
        await pilot.press("escape")


async def test_what_is_written(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        composer(pilot).put(HOSTILE.replace("\x85", "").replace("\u2028", "").replace("\u2029", ""))
        await pilot.pause()
        clean(pilot, "composer")
        composer(pilot).put(HOSTILE)  # with line ends that no editor keeps: a label
        await pilot.pause()
        assert controls(shown(pilot).replace("\n", "")) == [], "label"
        await pilot.press("ctrl+a", "delete")
        composer(pilot).put(f"/model {HOSTILE}")
        await pilot.press("enter")
        await pilot.pause(0.5)
        assert controls(shown(pilot).replace("\n", "")) == [], "a model that does not exist"


async def test_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    hidden = ("x\x1b[31mred", "x\u202egpj.exe")
    names = (f"x{LITERAL}[@click=app.quit]q", f"x{'long' * 60}", "x⟦y · 1 line · 3 B⟧", *hidden)
    for name in names:
        (here / name).write_text("a note")
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await pilot.press(*"see @x")
        await sees(pilot, f"x{LITERAL}", "xlonglong")
        clean(pilot, "completions")
        assert pilot.app.screen.query_one(Completions).size.height == 3, "a line for each that can be typed"
        await pilot.press("down", "tab")
        await sees(pilot, "⟦")
        assert controls(shown(pilot).replace("\n", "")) == [], "label of a file"
        for command in ("keep", "export", "model"):
            for name in (*hidden, HOSTILE):
                composer(pilot).put(f"/{command} {tmp_path}/no/{name}")
                await pilot.press("enter")
                await pilot.pause(0.2)
                assert controls(shown(pilot).replace("\n", "")) == [], (command, name)
        composer(pilot).put("")
        await say(pilot, "hello")
        composer(pilot).put(f"/export {here}/{HOSTILE.replace('/', '')[:40]}.md")
        await pilot.press("enter")
        await sees(pilot, "Written to")
        clean(pilot, "where it was exported to")
        composer(pilot).put("/export a\0b.md")
        await pilot.press("enter")
        await sees(pilot, "cannot be written")
        composer(pilot).put("/keep a\0b.md")
        await pilot.press("enter")
        await sees(pilot, "cannot be read")


async def test_what_the_configuration_says(tmp_path: Path) -> None:
    for key, value in (("chat.system", HOSTILE), ("model", f"{LITERAL}\u202e{'long' * 80}")):
        write_setting(places(tmp_path).config_file, key, value)
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await pilot.press("f10")
        await sees(pilot, "Settings", "acts at")
        clean(pilot, "values of settings", 2)
        for words in ("system", "model"):
            await pilot.press(*words)
            await pilot.press("enter")
            await pilot.pause()
            clean(pilot, f"a setting that is written: {words}")
            field = pilot.app.screen.query_one("#value", Input)
            if field.display:
                field.value = HOSTILE
                await pilot.pause()
                clean(pilot, "what is written")
                await pilot.press("escape")
            await pilot.press("escape")
        pilot.app.screen.query_one("#filter", Input).value = HOSTILE
        await pilot.pause()
        clean(pilot, "filter of the settings")


async def test_a_configuration_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    places(tmp_path).config_file.write_text('[ui]\ntheme = "\\u001b[31m\\u202e[bold]"\nno = 1\n')
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await pilot.press("f10")
        await sees(pilot, "✗")
        assert controls(shown(pilot).replace("\n", "")) == []


async def test_names_of_models(tmp_path: Path) -> None:
    names = (f"org/x{LITERAL}\x1b[31m\u202e", f"org/{'long' * 40}")
    shelve(tmp_path, *names)
    held(tmp_path, f"{LITERAL}{HOSTILE}", names[0])
    async with make_app(tmp_path, resume="last", model_typed=True).run_test(
        size=SIZE, notifications=True
    ) as pilot:
        await ready(pilot)
        await choosing(pilot)
        await sees(pilot, f"org/x{LITERAL}")
        clean(pilot, "models", 2)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(pilot.app.screen, SpecScreen))
        pilot.app.screen.query_one(Input).value = HOSTILE
        await pilot.pause()
        clean(pilot, "a model that is written")
        await pilot.press("enter")
        await pilot.pause(0.3)
        assert controls(shown(pilot).replace("\n", "")) == [], "a model that does not exist"


async def test_what_is_looked_for_in_the_palette(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: bool(pilot.app.screen.query(Input)))
        pilot.app.screen.query_one(Input).post_message(events.Paste(HOSTILE))
        await pilot.pause(0.3)
        assert controls(shown(pilot).replace("\n", "")) == [], "palette"
        pilot.app.screen.query_one(Input).post_message(events.Paste(f"{LITERAL}sessions"))
        await pilot.pause(0.3)
        clean(pilot, "palette")


async def test_text_is_stored_as_it_came_and_shown_as_it_is_stored(tmp_path: Path) -> None:
    document = f"# [bold]t[/bold]\n\n{HOSTILE}\n\n```py\nx = '{HOSTILE}'\n\tend\n```\n\n> {HOSTILE}\n"
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, f"say {document}")
        with Store.open(places(tmp_path).database, read_only=True) as store:
            user, answer = store.path(store.list_sessions()[0].leaf_id)
        assert (user.text, answer.text) == (f"say {document}", document)
        assert chat_of(pilot).board.turns[0].answer == document
        await pilot.press("ctrl+up", "y")
        assert pilot.app.clipboard == document
        await pilot.press("c")
        assert pilot.app.clipboard == f"x = '{HOSTILE}'\n\tend"
        clean(pilot, "an answer that came in pieces", 4)
