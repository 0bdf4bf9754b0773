"""The sidebar as one meets it: numbers explained under the mouse, lists that scroll, idle work without flicker."""

from __future__ import annotations

import re
from pathlib import Path

from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widget import Widget

from chatkv.protocol import Compaction, Delta, Drafted, Idle, Marks, TurnMark
from chatkv.store import Store
from chatkv.tui.app import ChatkvApp
from chatkv.tui.behind.desk import Desk
from chatkv.tui.memory.growth import Column, columns, spoken, stack
from chatkv.tui.screens.events import EventsScreen
from chatkv.tui.widgets.memory.chart import GrowthChart
from chatkv.tui.widgets.memory.event_log import EventLog
from chatkv.tui.widgets.memory.figure import Figures
from chatkv.tui.widgets.memory.gauge_line import GaugeLine
from chatkv.tui.widgets.memory.idle_line import IdleLine
from chatkv.tui.widgets.memory.kv_map import KvMap
from chatkv.tui.widgets.memory.sidebar import Sidebar
from chatkv.tui.widgets.memory.turns_table import TurnLines, interleaved
from tui.driving import make_app, places, ready, say, sees, send, settled, shown, until
from tui.sidebar_scenes import decode, draft, healing, hear, kv, many, played, recalled, turns

TALL = (120, 48)


def desk_of(pilot: Pilot[None]) -> Desk:
    app = pilot.app
    assert isinstance(app, ChatkvApp)
    return app.desk


def drawn_text(pilot: Pilot[None], widget: Widget) -> str:
    """What stands where the widget is."""
    region, lines = widget.region, shown(pilot).split("\n")
    return "\n".join(line[region.x : region.right] for line in lines[region.y : region.bottom])


async def test_every_number_says_what_it_means(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=TALL) as pilot:
        for scene in (decode, draft, healing, recalled, many):
            await played(scene)(pilot)
            await settled(pilot)
            sidebar = pilot.app.screen.query_one(Sidebar)
            for widget in sidebar.walk_children(Widget):
                if not widget.children and re.search(r"\d", drawn_text(pilot, widget)):
                    tips = [node.tooltip for node in (widget, *widget.ancestors) if isinstance(node, Widget)]
                    assert any(tips), widget


async def test_each_figure_has_words_of_its_own_under_the_mouse(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=TALL) as pilot:
        await played(decode)(pilot)
        figures = pilot.app.screen.query_one("#figures", Figures)
        seen = set()
        for y in range(4):
            for x in (2, 30):
                await pilot.hover(figures, (x, y))
                seen.add(str(figures.tooltip))
        labels = {tip.partition(":")[0] for tip in seen}
        assert labels == {"reused", "early", "prefilled", "decoded", "recalled", "summary", "TTFT", "tok/s"}


async def test_the_map_and_the_chart_name_what_is_under_the_mouse(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=TALL) as pilot:
        await played(healing)(pilot)
        kv_map, chart = (pilot.app.screen.query_one(kind) for kind in (KvMap, GrowthChart))
        await pilot.hover(kv_map, (0, 0))
        assert str(kv_map.tooltip).startswith("System · 40 tokens")
        await pilot.hover(kv_map, (7, 0))
        assert "Turn 3: question, answer" in str(kv_map.tooltip).replace(" and", ",")
        assert "pinned" in str(kv_map.tooltip)
        await pilot.hover(kv_map, (36, 0))
        assert kv_map.tooltip == "Room that is held for the next tokens."
        await pilot.hover(kv_map, (3, 2))
        assert "What the KV cache holds" in str(kv_map.tooltip)
        await pilot.hover(chart, (7, 3))
        assert str(chart.tooltip).startswith("Turn 2: 339 tokens in the KV cache\n167 kept · 6 early")
        await pilot.hover(chart, (2, 3))
        assert "Tokens in the KV cache after each turn" in str(chart.tooltip)


async def test_the_chart_grows_with_every_token_and_only_where_it_does(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=TALL) as pilot:
        await played(decode)(pilot)
        chart = pilot.app.screen.query_one(GrowthChart)
        before = columns(desk_of(pilot).gauges, 40)
        hear(desk_of(pilot), Delta(902, "!", 300))
        await until(pilot, lambda: chart._columns[-1].tokens == before[-1].tokens + 60)
        assert chart._columns[:-1] == before[:-1]
        assert chart._columns[-1].state == "live"


async def test_a_draft_shows_as_the_turn_to_come_until_it_is_cleared(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=TALL) as pilot:
        await played(draft)(pilot)
        await sees(pilot, "Next turn", "draft · 640 tokens", "▱ draft", "◌ reading your draft ahead", "10…")
        hear(desk_of(pilot), Drafted(0, 2000, 3000), Idle(""))
        await sees(pilot, "This turn")
        await until(pilot, lambda: "reading your draft" not in shown(pilot))


async def test_idle_work_does_not_flicker(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=TALL) as pilot:
        await ready(pilot)
        await settled(pilot)
        line = pilot.app.screen.query_one(IdleLine)
        line.work("writing")
        line.work("")
        assert line._shown == ""
        line.work("healing")
        assert line._shown == ""
        await until(pilot, lambda: line._shown.startswith("◌ healing"))
        line.work("")
        assert line._shown.startswith("◌ healing")
        line.work("healing")
        line.work("", at_once=True)
        assert line._shown == ""


async def test_the_table_draws_only_what_is_in_sight_and_stays_where_one_scrolled(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=TALL) as pilot:
        await played(many)(pilot)
        lines = pilot.app.screen.query_one(TurnLines)
        await until(pilot, lambda: lines.scroll_offset.y == lines.max_scroll_y > 280)
        await sees(pilot, " 300  4186", "Σ")
        lines.scroll_to(y=0, animate=False)
        await sees(pilot, "   1    40")
        desk_of(pilot)._meter.open("Sailing", turns(301), ())
        hear(desk_of(pilot), Marks((TurnMark(2, 3, "pinned"), TurnMark(3, 5, "archived"))))
        await sees(pilot, "◆  2", "▫  3")
        assert lines.scroll_offset.y == 0


def test_room_that_was_made_is_a_line_between_turns() -> None:
    one, two, three = turns(3)
    assert interleaved([one, two, three], (1, 3, 3)) == [one, None, two, three, None]
    assert interleaved([], (1,)) == []


def test_a_column_is_its_parts_from_below_and_differs_without_colour() -> None:
    column = Column(4, 8, 4, 4, made_room=True)
    assert stack(column, 4, 16) == (("kept", "█"), ("kept", "█"), ("early", "▒"), ("new", "█"))
    shaded = stack(column, 4, 16, shaded=True)
    assert [glyph for _, glyph in shaded] == ["░", "░", "▒", "█"]
    assert stack(Column(1, 0, 0, 1), 4, 1000)[0] == ("new", "▁"), "never invisible"
    assert "▾ room was made" in spoken(column)
    assert "8 kept · 4 early · 4 new" in spoken(column)


async def test_events_are_listed_newest_first_and_come_back_with_the_session(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=TALL) as pilot:
        await ready(pilot)
        await say(pilot, "break")
        await sees(pilot, "! The KV did not hold", "• A word from the worker.")
        log = drawn_text(pilot, pilot.app.screen.query_one(EventLog))
        assert log.index("A word from the worker") < log.index("The KV did not hold")
        await send(pilot, "/pin 9")
        await sees(pilot, "✗ There is no turn 9.")
    with Store.open(places(tmp_path).database) as store:
        (session,) = store.list_sessions()
        noted = {"position": 12, "expected": "a\x1bb", "found": "c", "tokens": 34, "reason": "it was told so"}
        store.add_event(session.id, "prefix_break", noted)
        store.add_event(
            session.id, "error", {"message": "Out of memory.", "hint": "Lower it.", "command": ""}
        )
        store.add_event(session.id, "of another version", {})
    async with make_app(tmp_path, resume="last").run_test(size=TALL) as pilot:
        await ready(pilot)
        await settled(pilot)  # where the list stands is known only then
        await pilot.click(EventLog)
        await until(pilot, lambda: isinstance(pilot.app.screen, EventsScreen))
        await sees(pilot, "✗ Out of memory. Lower it.", "! The KV did not hold the prefix from token 12:")
        await sees(pilot, "“a␛b”", "the newest first")
        told = [one.text for one in desk_of(pilot).gauges.happened]
        assert told[:2] == [
            "Out of memory. Lower it.",
            "The KV did not hold the prefix from token 12: 34 tokens are read again. There stood “a␛b”, now “c”. "
            "It was told so.",
        ]


async def test_wide_text_in_events_keeps_within_its_lines(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=TALL) as pilot:
        await ready(pilot)
        desk_of(pilot)._meter.note("日本語" * 40 + " [b]not markup[/b]", "warning")
        desk_of(pilot)._gauge(desk_of(pilot).gauges)
        log = pilot.app.screen.query_one(EventLog)
        await until(pilot, lambda: bool(log._lines))
        lines = ["".join(text for _, text in line) for line in log._lines]
        assert all(cell_len(line) <= log.size.width for line in lines)
        assert "[b]notmarkup[/b]" in "".join(lines).replace(" ", "")


async def test_nothing_is_drawn_again_that_stays_the_same(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=TALL) as pilot:
        await played(many)(pilot)
        sidebar, drawn = pilot.app.screen.query_one(Sidebar), list[str]()
        for widget in sidebar.walk_children(Widget):
            widget.refresh = lambda *_, who=widget, **__: drawn.append(str(who)) or who  # type: ignore
        sidebar.show(desk_of(pilot).gauges)
        assert drawn == []


async def test_small_terminals_fold_it_into_a_line(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(60, 20)) as pilot:
        await played(decode)(pilot)
        line = pilot.app.screen.query_one(GaugeLine)
        assert not pilot.app.screen.query_one(Sidebar).display
        await sees(pilot, "KV 54.5/90.0 MiB", "1327+912→240")
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: len(line._shown) <= line.size.width)
        hear(desk_of(pilot), kv(), Compaction("done", "full", (1,)))
        await sees(pilot, "KV 0.0")
