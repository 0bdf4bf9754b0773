"""Memory in the app: commands typed, marks and recollections seen, summaries edited, nothing typed lost."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Collapsible, TextArea

from chatkv.store import Store
from chatkv.tui.screens.overlong import OverlongScreen
from chatkv.tui.screens.summary import SummaryScreen
from chatkv.tui.widgets.activity import Activity
from chatkv.tui.widgets.memory.chart import GrowthChart
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

SIZE = (110, 44)


async def talk(pilot: Pilot[None], *texts: str) -> None:
    await ready(pilot)
    for text in texts:
        await say(pilot, text)


def tells(pilot: Pilot[None], words: str) -> bool:
    """Whether the line above the composer has these words."""
    return words in str(pilot.app.screen.query_one(Activity).render())


def room_made(pilot: Pilot[None]) -> list[int]:
    """Turns that the chart marks, since room was made before them."""
    return [column.turn for column in pilot.app.screen.query_one(GrowthChart)._columns if column.made_room]


async def test_turns_are_pinned_compacted_and_marked(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "one", "two", "three")
        await send(pilot, "/pin 2")
        await sees(pilot, "◆ pinned · 2")
        await send(pilot, "/compact")
        await sees(pilot, "▿ summarized · 1", "▼ turn 1 is summarized · /summary")
        await sees(pilot, "░ summary", "◆ pinned", "▒ near", "Compacted turn 1:", "▾ room made", "Σ")
        assert room_made(pilot) == [4]
        await send(pilot, "/unpin 2")
        await until(pilot, lambda: "◆ pinned · 2" not in shown(pilot))
        await send(pilot, "/unpin")
        await say(pilot, "four")
        assert states(pilot) == ["complete"] * 4


async def test_marks_do_not_move_the_view_or_mount_hidden_turns(tmp_path: Path) -> None:
    with Store.open(places(tmp_path).database) as store:
        session, leaf = store.create_session("tiny-echo", "many"), None
        for n in range(1, 61):
            _, answer = store.add_exchange(session.id, leaf, f"question {n}", n, "tiny-echo")
            store.update_answer(answer.id, text="a", thought="", ids=(), answer_start=0, status="complete")
            leaf = answer.id
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await ready(pilot)
        await sees(pilot, "question 60")
        await pilot.press("pageup", "pageup")
        await until(pilot, lambda: not transcript(pilot)._loading)
        n_mounted, at = len(states(pilot)), transcript(pilot).scroll_y
        await send(pilot, "/pin 2")
        await until(pilot, lambda: chat_of(pilot).board.turns[1].mark == "pinned")
        await pilot.pause()
        assert (len(states(pilot)), transcript(pilot).scroll_y) == (n_mounted, at)


async def test_a_command_that_cannot_be_meant_is_told_and_stays(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "one")
        for text, words in (("/sumary", "There is no command /sumary"), ("/pin x", "'x'")):
            await send(pilot, text)
            await until(pilot, partial(tells, pilot, words))
            assert composer(pilot).message == text
            composer(pilot).put("")
        await send(pilot, "/pin 9")
        await sees(pilot, "There is no turn 9")
        await send(pilot, "/budget nonsense")
        await sees(pilot, "is not a size")
        assert states(pilot) == ["complete"]


async def test_a_message_may_begin_with_a_slash(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "//help", "/usr/bin is a folder")
        await sees(pilot, "You said: /help", "You said: /usr/bin is a folder")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: states(pilot) == [])
        await say(pilot, "//help")
        await pilot.press("f3", "end", "enter")
        await idle(pilot)
        assert chat_of(pilot).board.turns[0].prompt == "/help", "an edited message is never a command"


async def test_commands_are_shown_while_they_are_typed(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("slash")
        await sees(pilot, "/compact [instructions]", "… 19 more")
        await pilot.press("r")
        await until(pilot, lambda: "/compact" not in shown(pilot))
        await sees(pilot, "/recall words", "Search the archive")
        await pilot.press("tab", "x")
        assert composer(pilot).message == "/recall x"
        await pilot.press(*["backspace"] * 9)
        await until(pilot, lambda: "Search the archive" not in shown(pilot))


async def test_what_was_recalled_is_a_folded_line_also_after_a_resume(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "one", "remember")
        await sees(pilot, "recalled 1 round and 1 passage · 412 tokens")
        assert "Miso" not in shown(pilot)
        pilot.app.screen.query_one("TurnView Recollected", Collapsible).collapsed = False
        await sees(pilot, "turns 1–2", "The cat is called Miso.", "log.txt", f"recalled{412:>9}")
    async with make_app(tmp_path, "--hold", resume="last").run_test(size=SIZE) as pilot:
        await sees(pilot, "recalled 5 words")
        pilot.app.screen.query_one("TurnView Recollected", Collapsible).collapsed = False
        await sees(pilot, "The cat is called Miso.")


async def test_old_compactions_are_marked_after_a_resume(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "one", "two")
    with Store.open(places(tmp_path).database) as store:
        (session,) = store.list_sessions()
        assert session.leaf_id is not None
        store.add_summary(session.id, session.leaf_id, "They met.", origin="model")
        store.add_summary(session.id, session.leaf_id, "They met!", origin="edited")
    async with make_app(tmp_path, "--hold", resume="last").run_test(size=SIZE) as pilot:
        await sees(pilot, "You said: two", "▾ room made")
        release(pilot)
        await ready(pilot)
        await say(pilot, "three")
        await until(pilot, lambda: room_made(pilot) == [3])


async def test_what_is_found_by_hand_goes_with_the_next_message(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "the boat is Esmeralda")
        await send(pilot, "/recall cat")
        await sees(pilot, "Nothing in the archive")
        await send(pilot, "/recall boat")
        await sees(pilot, "recalled 1 round · 4 tokens · goes with your next message")
        await say(pilot, "which boat")
        await until(pilot, lambda: "goes with your next message" not in shown(pilot))
        assert len(pilot.app.screen.query("TurnView Recollected")) == 1


async def test_a_running_compaction_is_shown_and_escape_stops_it(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "one", "two", "full")
        await sees(pilot, "Memory is filling up")
        await send(pilot, "/compact slow")
        await sees(pilot, "summarizing turns 1–2 · 34/96 tokens", "Esc stops")
        await pilot.press("escape")
        await sees(pilot, "could not be compacted")
        await until(pilot, lambda: "summarizing" not in shown(pilot))
        await say(pilot, "on we go")


async def test_a_command_waits_for_the_running_answer(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "one")
        await send(pilot, "slow one")
        await streaming(pilot)
        await send(pilot, "/pin 1")
        await sees(pilot, "This waits for the running answer.")
        release(pilot)


async def test_what_is_being_written_into_the_summary_is_not_overwritten(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "one", "two")
        await send(pilot, "/summary")
        await sees(pilot, "There is no summary yet")
        await pilot.press("ctrl+r")
        await sees(pilot, "There is no change to take back.")
        await pilot.press("escape")
        await send(pilot, "/compact the boat")
        await send(pilot, "/summary")
        await sees(pilot, "The person said 1 things. the boat")
        screen = pilot.app.screen
        assert isinstance(screen, SummaryScreen)
        area = screen.query_one(TextArea)
        area.text = "Mine."
        screen.show(chat_of(pilot).memory.summary)
        await sees(pilot, "changed meanwhile")
        assert area.text == "Mine."
        area.text = " "
        await pilot.press("ctrl+s")
        await sees(pilot, "An empty summary would forget")


async def test_a_long_message_survives_every_answer(tmp_path: Path) -> None:
    huge = "huge\n" * 3000
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "huge " + huge)
        await until(pilot, lambda: isinstance(pilot.app.screen, OverlongScreen))
        await sees(pilot, "3,001 lines, 14.7 KiB", "9,000 tokens")
        await pilot.press("escape")
        await until(pilot, lambda: composer(pilot).message == "huge " + huge)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, OverlongScreen))
        await pilot.press("d")
        await sees(pilot, "tokens in 2 passages")
        assert (states(pilot), composer(pilot).message) == ([], "")


async def test_a_new_session_takes_the_summary_along(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "one", "two")
        await send(pilot, "/compact")
        await sees(pilot, "▿ summarized · 1")
        await send(pilot, "/new --carry")
        await sees(pilot, "Carried over: The person said 1", "What is on your mind?")


async def test_the_palette_has_the_commands(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await talk(pilot, "one")
        await pilot.press("ctrl+p", *"/budget")
        await sees(pilot, "Memory for the KV cache")
        await pilot.press("down", "enter")
        await until(pilot, lambda: composer(pilot).message == "/budget ")


async def test_low_terminals_keep_the_notices_in_sight(tmp_path: Path) -> None:
    for n, height in enumerate((24, 32, 40)):
        async with make_app(tmp_path / str(n)).run_test(size=(110, height)) as pilot:
            await talk(pilot, "one", "two")
            await send(pilot, "/compact")
            await sees(pilot, "• Compacted turn 1:", "hard▵", "Σ")
            assert pilot.app.screen.query_one(Sidebar).display
