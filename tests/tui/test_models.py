"""A session whose model is another one or gone: read only until the person chooses, and nothing lost on the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from chatkv.store import Store
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.models import ModelScreen, SpecScreen
from chatkv.tui.talk.exchange import Update
from chatkv.tui.widgets.banner import Banner
from tui.driving import (
    chat_of,
    composer,
    idle,
    make_app,
    places,
    ready,
    release,
    say,
    sees,
    send,
    settled,
    shown,
    states,
    streaming,
    until,
)
from tui.model_key_checks import answers
from tui.model_shelf import OTHER, choosing, held, shelve, write, write_folder

SIZE = (110, 32)


def model_of(folder: Path, session: str) -> tuple[str, str]:
    with Store.open(places(folder).database, read_only=True) as store:
        record = store.session(session)
        return record.model, record.spec


async def test_resuming_loads_the_sessions_own_model_if_it_is_here(tmp_path: Path) -> None:
    shelve(tmp_path, OTHER)
    session = held(tmp_path, OTHER, OTHER)
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await sees(pilot, "A bird.")
        await answers(pilot, OTHER)
        await say(pilot, "go on")
        await settled(pilot)
        assert "Held with" not in shown(pilot)
        assert states(pilot) == ["complete", "complete"]
    assert model_of(tmp_path, session) == (OTHER, OTHER)


async def test_a_folder_counts_as_here_while_it_exists(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    held(tmp_path, "mine", str(folder))
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await answers(pilot, str(folder))


@pytest.mark.parametrize("spec", ["/no/such/folder", OTHER, ""])
async def test_a_model_that_is_gone_or_unknown_leaves_the_configured_one(spec: str, tmp_path: Path) -> None:
    session = held(tmp_path, OTHER, spec)
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await answers(pilot, "tiny-echo")
        where = f"no longer at {spec}" if spec.startswith("/") else "not on this machine"
        await until(pilot, lambda: where in chat_of(pilot).held.words)
        await sees(pilot, "A bird.", f"Held with {OTHER}", "read only")
    assert model_of(tmp_path, session) == (OTHER, spec)


async def test_a_model_that_was_named_for_this_run_always_wins(tmp_path: Path) -> None:
    shelve(tmp_path, OTHER)
    held(tmp_path, OTHER, OTHER)
    async with make_app(tmp_path, resume="last", model_typed=True).run_test(size=SIZE) as pilot:
        await sees(pilot, f"Held with {OTHER}; tiny-echo goes on with it.")
        await say(pilot, "go on")
        await sees(pilot, "You said: go on")


async def opened(pilot: Pilot[None], session: str) -> None:
    """A session opened in an app whose model is loaded."""
    await ready(pilot)
    pilot.app.desk.open(session)  # type: ignore[attr-defined]
    await sees(pilot, "read only · Enter chooses a model", "which is on this machine")


async def test_enter_asks_which_model_and_keeps_the_draft(tmp_path: Path) -> None:
    shelve(tmp_path, OTHER, "org/third")
    session = held(tmp_path, OTHER, OTHER)
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await opened(pilot, session)
        for text in ("my draft", "/compact"):
            await write(pilot, text)
            await choosing(pilot, "")
            assert composer(pilot).message == text
            await pilot.press("escape")
            composer(pilot).put("")
        for key in ("ctrl+r", "f3"):
            await pilot.press(key)
            await sees(pilot, "Read only until you choose")
        await write(pilot, "my draft")
        await choosing(pilot, "")
        await sees(pilot, OTHER, "this session's own", "● tiny-echo", "loaded", "org/third", "98.8 KiB")
        assert states(pilot) == ["complete"]
        await pilot.press("enter")
        await answers(pilot, OTHER)
        assert composer(pilot).message == "my draft"
        await pilot.press("enter")
        await idle(pilot)
        assert states(pilot) == ["complete", "complete"]
    assert model_of(tmp_path, session) == (OTHER, OTHER)


async def test_the_loaded_model_goes_on_once_it_is_chosen(tmp_path: Path) -> None:
    shelve(tmp_path, OTHER)
    session = held(tmp_path, OTHER, OTHER)
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await opened(pilot, session)
        process = pilot.app.desk._link._client._process  # type: ignore[attr-defined]
        await pilot.click(Banner)
        await choosing(pilot, "")
        await pilot.press("down", "enter")
        await sees(pilot, f"Held with {OTHER}; tiny-echo goes on with it.")
        assert model_of(tmp_path, session) == (OTHER, OTHER), "nothing was said yet"
        await say(pilot, "go on")
        await settled(pilot)
        assert "Held with" not in shown(pilot)
        assert pilot.app.desk._link._client._process is process  # type: ignore[attr-defined]
    assert model_of(tmp_path, session) == ("tiny-echo", "tiny-echo")


async def test_a_prompt_written_while_the_model_loads_comes_back_when_it_is_another(tmp_path: Path) -> None:
    held(tmp_path, OTHER)
    async with make_app(tmp_path, "--hold", resume="last").run_test(size=SIZE) as pilot:
        await sees(pilot, "A bird.", "96 of 272 tensors")
        await send(pilot, "too early")
        await sees(pilot, "◦ queued")
        release(pilot)
        await choosing(pilot, "")
        assert composer(pilot).message == "too early"
        assert states(pilot) == ["complete"]


@pytest.mark.parametrize("broken", ["org/broken", "org/doomed"])
async def test_a_model_that_cannot_be_loaded_is_told_and_the_former_comes_back(
    broken: str, tmp_path: Path
) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        hold = places(tmp_path).database.with_suffix(".hold")
        hold.touch()
        await send(pilot, f"/model {broken}")
        await send(pilot, "a draft")
        hold.unlink()
        await choosing(pilot, "")
        await answers(pilot, "tiny-echo")
        assert composer(pilot).message == "a draft"
        await pilot.press("escape")
        await sees(pilot, f"{broken} could not be loaded: ", "You said: hello")
        await pilot.press("enter")
        await idle(pilot)
        assert states(pilot) == ["complete", "complete"]


async def test_a_broken_own_model_at_the_start_leaves_the_configured_one(tmp_path: Path) -> None:
    shelve(tmp_path, "org/broken")
    session = held(tmp_path, "org/broken", "org/broken")
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await choosing(pilot, "")
        await answers(pilot, "tiny-echo")
        await sees(pilot, "● tiny-echo")
        await pilot.press("down", "enter")
        await say(pilot, "go on")
        assert states(pilot) == ["complete", "complete"]
    assert model_of(tmp_path, session)[0] == "tiny-echo"


async def test_another_model_takes_over_in_mid_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        session = chat_of(pilot).session
        await send(pilot, "/budget 256MiB")
        heard: list[str] = []
        show = app.desk._show

        def listen(update: Update) -> None:
            heard.append(str(update))
            show(update)

        monkeypatch.setattr(app.desk, "_show", listen)
        await send(pilot, f"/model {OTHER}")
        await send(pilot, "and on")
        await answers(pilot, OTHER)
        await idle(pilot)
        await until(pilot, lambda: any("256MiB" in update for update in heard))
        assert not any("died" in update or "ended" in update for update in heard)
        assert (chat_of(pilot).session, states(pilot)) == (session, ["complete", "complete"])
        assert model_of(tmp_path, session or "") == (OTHER, OTHER)


async def test_the_model_stays_while_an_answer_runs(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await send(pilot, "slow one")
        await streaming(pilot)
        await send(pilot, f"/model {OTHER}")
        await sees(pilot, "The model can be changed after")
        assert composer(pilot).message == f"/model {OTHER}"
        await pilot.press("ctrl+l")
        assert isinstance(pilot.app.screen, ChatScreen)
        await pilot.press("escape")
        await idle(pilot)
        assert chat_of(pilot).held.loaded == "tiny-echo"


async def test_what_cannot_be_a_model_is_refused_at_once(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        for wrong, words in (
            ("./nothing", "does not exist"),
            ("nonsense", "neither a folder here nor a hub id"),
        ):
            await send(pilot, f"/model {wrong}")
            await sees(pilot, words)
            assert composer(pilot).message == f"/model {wrong}"
            composer(pilot).put("")
        await say(pilot, "fine")
        assert states(pilot) == ["complete"]


async def test_a_carried_summary_is_not_lost_with_the_model(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "one")
        await say(pilot, "two")
        await send(pilot, "/compact")
        await sees(pilot, "▿ summarized · 1")
        await send(pilot, "/new --carry")
        await until(pilot, lambda: not states(pilot))
        await send(pilot, f"/model {OTHER}")
        await sees(pilot, "The summary that this session", "something first.")
        assert chat_of(pilot).held.loaded == "tiny-echo"


async def test_a_model_that_is_gone_is_the_first_guess_in_writing(tmp_path: Path) -> None:
    held(tmp_path, OTHER, OTHER)
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await ready(pilot)
        await sees(pilot, "which is not on this machine")
        await choosing(pilot)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(pilot.app.screen, SpecScreen))
        assert pilot.app.screen.query_one(Input).value == OTHER
        await pilot.press("enter")
        await answers(pilot, OTHER)
        assert not chat_of(pilot).held.strange


async def test_a_click_chooses_and_the_palette_leads_there(tmp_path: Path) -> None:
    shelve(tmp_path, OTHER)
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+p", *"answers from now")
        await sees(pilot, "Choose the model that answers from now on")
        await pilot.press("down", "enter")
        marked = await choosing(pilot, "")
        assert isinstance(pilot.app.screen, ModelScreen)
        await pilot.click(marked, offset=(4, 2))
        await answers(pilot, OTHER)


async def test_a_list_longer_than_the_screen_is_scrolled(tmp_path: Path) -> None:
    shelve(tmp_path, *(f"org/model-{n:02}" for n in range(20)))
    async with make_app(tmp_path).run_test(size=(60, 18)) as pilot:
        await ready(pilot)
        marked = await choosing(pilot)
        assert marked.option_count == 22
        await pilot.press(*["down"] * 21)
        await sees(pilot, "Other…", "org/model-19")
        await pilot.press("up", "enter")
        await answers(pilot, "org/model-19")
