"""The app against a real worker process (scripted) and a real store: what a person does and what must come of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from textual import events

from chatkv.store import Store
from chatkv.tui.widgets.memory.sidebar import Sidebar
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
    shown,
    states,
    streaming,
    transcript,
    until,
)

SIZE = (110, 32)


async def test_a_question_is_answered_stored_and_counted(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "hello world")
        await sees(pilot, "You said: hello world", "prefilled      10")
        assert states(pilot) == ["complete"]
    with Store.open(places(tmp_path).database, read_only=True) as store:
        (record,) = store.list_sessions()
        assert [message.text for message in store.path(record.leaf_id)] == [
            "hello world",
            "You said: hello world",
        ]


async def test_typing_works_before_the_model_is_ready_and_nothing_is_lost(tmp_path: Path) -> None:
    async with make_app(tmp_path, "--hold").run_test(size=SIZE) as pilot:
        await pilot.press(*"early")
        await pilot.press("enter")
        await pilot.pause()
        assert states(pilot) == ["queued"]
        await sees(pilot, "loading weights")
        await sees(pilot, "96 of 272 tensors")
        release(pilot)
        await until(pilot, lambda: states(pilot) == ["complete"])


async def test_a_prompt_sent_while_an_answer_streams_waits_visibly(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "slow one")
        await streaming(pilot)
        await send(pilot, "next")
        await pilot.pause()
        assert states(pilot) == ["streaming", "queued"]
        await sees(pilot, "◦ queued")
        release(pilot)
        await idle(pilot)
        assert states(pilot) == ["complete", "complete"]


async def test_resume_paints_the_transcript_before_the_model_is_loaded(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await say(pilot, "long")
    async with make_app(tmp_path, "--hold", resume="last").run_test(size=SIZE) as pilot:
        await until(pilot, lambda: states(pilot) == ["complete", "length"])
        assert not chat_of(pilot).ready
        await sees(pilot, "You said: hello", "Ctrl+G continues")
        table = pilot.app.screen.query_one(Sidebar)._table
        await until(pilot, lambda: bool(table._rows))
        assert table._rows[0].prefilled == 9
        release(pilot)
        await ready(pilot)
        await pilot.press("ctrl+g")
        await idle(pilot)
        assert chat_of(pilot).last_answer.endswith(" and the end.")
        assert states(pilot) == ["complete", "complete"]


async def test_a_session_that_does_not_exist_is_said_and_a_new_one_begins(tmp_path: Path) -> None:
    async with make_app(tmp_path, resume="zzzz").run_test(size=SIZE) as pilot:
        await ready(pilot)
        await sees(pilot, "There is no session")
        await say(pilot, "hello")
        assert states(pilot) == ["complete"]


async def test_a_paste_of_a_megabyte_is_one_message_byte_for_byte(tmp_path: Path) -> None:
    text = "".join(f"\tline {n}\u2028\x0b{n:>30} é🙂\r\n" for n in range(20_000))
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        composer(pilot).post_message(events.Paste(text))
        await sees(pilot, "20,001 lines")
        await pilot.press("enter")
        await until(pilot, lambda: states(pilot) == ["complete"])
    with Store.open(places(tmp_path).database, read_only=True) as store:
        (record,) = store.list_sessions()
        assert store.path(record.leaf_id)[0].text == text


async def test_escape_sequences_and_markup_are_shown_inert_and_stored_as_they_are(tmp_path: Path) -> None:
    text = "\x1b[31mred\x07 [bold]x[/bold] <b>tag</b> \x9b2J"
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, text)
        await sees(pilot, "You said: ␛[31mred␇ [bold]x[/bold] <b>tag</b>")
        assert not {"\x1b", "\x07", "\x9b"} & set(shown(pilot))
    with Store.open(places(tmp_path).database, read_only=True) as store:
        (record,) = store.list_sessions()
        assert store.path(record.leaf_id)[0].text == text


async def test_thoughts_are_folded_and_prefix_breaks_are_told(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "think")
        await sees(pilot, "Thoughts · 13 words")
        assert "I shall think" not in shown(pilot)
        await say(pilot, "break")
        await sees(pilot, "34 tokens are read again")


async def test_only_the_last_turns_are_mounted_and_older_ones_come_at_the_top(tmp_path: Path) -> None:
    with Store.open(places(tmp_path).database) as store:
        session, leaf = store.create_session("m", "many"), None
        for n in range(1, 101):
            _, answer = store.add_exchange(session.id, leaf, f"question {n}", n, "m")
            store.update_answer(
                answer.id, text=f"answer {n}", thought="", ids=(), answer_start=0, status="complete"
            )
            leaf = answer.id
    async with make_app(tmp_path, "--hold", resume="last").run_test(size=SIZE) as pilot:
        await sees(pilot, "answer 100")
        assert len(states(pilot)) < 20
        await pilot.press("pageup", "pageup", "pageup")
        await until(pilot, lambda: len(states(pilot)) > 19)
        await until(pilot, lambda: not transcript(pilot)._loading)
        await pilot.press("ctrl+home")
        await sees(pilot, "question 1 ")
        assert (transcript(pilot)._earlier.display, transcript(pilot)._later.display) == (False, True)
        await pilot.press("ctrl+end")
        await sees(pilot, "answer 100")
        assert (transcript(pilot)._earlier.display, transcript(pilot)._later.display) == (True, False)


async def test_the_view_follows_the_end_unless_scrolled_up(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        for _ in range(4):
            await say(pilot, "code")
        assert transcript(pilot).is_vertical_scroll_end
        await pilot.press("pageup")
        await pilot.pause()
        at = transcript(pilot).scroll_y
        await send(pilot, "slow one that is long enough")
        await pilot.press("pageup", "pageup")
        at = transcript(pilot).scroll_y
        await streaming(pilot)
        release(pilot)
        await idle(pilot)
        assert transcript(pilot).scroll_y == at


async def test_resizing_loses_nothing(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "a sentence that must survive")
        composer(pilot).put("half a thought")
        for size in ((40, 12), (300, 80), (140, 40), (45, 14), (140, 40), (24, 5), (110, 32)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        await sees(pilot, "You said: a sentence that must survive")
        assert composer(pilot).message == "half a thought"


async def test_a_narrow_terminal_has_the_gauges_in_one_line(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(60, 20)) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        assert not pilot.app.screen.query_one(Sidebar).display
        await sees(pilot, "/64.0 MiB", " 12 tok", "0+9→")


async def test_an_unknown_theme_is_said_and_ours_is_used(tmp_path: Path) -> None:
    async with make_app(tmp_path, theme="nonsense").run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        assert pilot.app.theme == "chatkv"
        await sees(pilot, "There is no theme 'nonsense'")


def test_the_app_loads_neither_torch_nor_sqlite() -> None:
    script = """
import sys, chatkv.tui.app
bad = {"torch", "transformers", "sqlite3", "sqlite_utils", "numpy", "pygments"} & set(sys.modules)
sys.exit(str(bad) if bad else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def test_paging_through_a_long_conversation_skips_nothing_and_mounts_little(tmp_path: Path) -> None:
    with Store.open(places(tmp_path).database) as store:
        session, leaf = store.create_session("m", "many"), None
        for n in range(1, 61):
            _, answer = store.add_exchange(session.id, leaf, f"question {n}", n, "m")
            store.update_answer(
                answer.id, text=f"answer {n}", thought="", ids=(), answer_start=0, status="complete"
            )
            leaf = answer.id
    async with make_app(tmp_path, "--hold", resume="last").run_test(size=SIZE) as pilot:
        await sees(pilot, "answer 60")
        for key, last in (("pageup", "question 1 "), ("pagedown", "question 60 ")):
            seen: set[str] = set()
            for _ in range(60):
                seen |= set(re.findall(r"question (\d+)", shown(pilot)))
                if last in shown(pilot):
                    break
                await pilot.press(key)
                await until(pilot, lambda: not transcript(pilot)._loading)
                assert len(states(pilot)) <= 48
            assert seen == {str(n) for n in range(1, 61)}
        await pilot.press("pagedown", "pagedown")

        assert not transcript(pilot).is_scrolled_up
