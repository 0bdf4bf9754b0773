"""What goes wrong, and what must come of it: stops, refusals, errors, and a worker that dies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chatkv.store import Store
from chatkv.tui.talk.exchange import Update
from chatkv.tui.widgets.activity import Activity
from tui.driving import (
    composer,
    idle,
    make_app,
    places,
    ready,
    say,
    sees,
    send,
    states,
    streaming,
    until,
)

SIZE = (110, 32)


async def test_escape_stops_keeps_the_partial_answer_and_gives_the_queue_back(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "slow one")
        await streaming(pilot)
        await send(pilot, "next")
        await pilot.press("escape")
        await idle(pilot)
        assert states(pilot) == ["stopped"]
        await sees(pilot, "■ stopped")
        assert composer(pilot).message == "next"


async def test_escape_before_the_first_token_puts_the_text_back(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "wait")
        await streaming(pilot)
        await pilot.press("escape")
        await idle(pilot)
        assert states(pilot) == []
        assert composer(pilot).message == "wait"
        composer(pilot).put("")
        await say(pilot, "again")
        assert states(pilot) == ["complete"]


async def test_an_error_is_told_inline_and_the_next_send_works(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "error")
        await sees(pilot, "Lower memory.budget.")
        await say(pilot, "fine")
        assert states(pilot) == ["error", "complete"]


async def test_a_refused_message_comes_back_with_the_reason(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "refuse")
        await sees(pilot, "room for 8,192")
        assert states(pilot) == []
        assert composer(pilot).message == "refuse"


async def test_a_dead_worker_is_replaced_and_the_conversation_goes_on(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await send(pilot, "die")
        await until(pilot, lambda: states(pilot) == ["complete", "partial"])
        await sees(pilot, "CUDA error: out of memory", "You sai", "◌ partial")
        await ready(pilot)
        await say(pilot, "on we go")
        assert states(pilot) == ["complete", "partial", "complete"]
    with Store.open(places(tmp_path).database, read_only=True) as store:
        (record,) = store.list_sessions()
        assert [m.status for m in store.path(record.leaf_id)][1::2] == ["complete", "partial", "complete"]


async def test_a_new_worker_is_told_what_was_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "/budget 256MiB")
        await send(pilot, "/budget nonsense")
        await sees(pilot, "is not a size")
        heard: list[str] = []
        show = app.desk._show

        def listen(update: Update) -> None:
            heard.append(str(update))
            show(update)

        monkeypatch.setattr(app.desk, "_show", listen)
        await send(pilot, "die")
        await until(pilot, lambda: states(pilot) == ["partial"])
        await until(pilot, lambda: any("256MiB" in update for update in heard))
        assert not any("nonsense" in update for update in heard)


async def test_a_message_that_kills_the_worker_before_it_is_taken_comes_back(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "die first")
        await until(pilot, lambda: composer(pilot).message == "die first")
        await ready(pilot)
        assert states(pilot) == []


async def test_a_worker_that_keeps_dying_is_given_up_until_f5(tmp_path: Path) -> None:
    async with make_app(tmp_path, "--doomed").run_test(size=SIZE) as pilot:
        await sees(pilot, "F5 tries again")
        log = places(tmp_path).log_file
        assert log.read_text().count("out of memory") == 3
        await pilot.press("f5")
        await until(pilot, lambda: log.read_text().count("out of memory") == 6)


async def test_quitting_leaves_no_process_behind(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "slow one")
        await streaming(pilot)
        process = app.desk._link._client._process
        assert process is not None
        pid = process.pid
        await pilot.press("ctrl+q")
    assert process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_an_open_error_stays_in_sight_until_the_next_message(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await send(pilot, "refuse")
        activity = pilot.app.screen.query_one(Activity)
        await until(pilot, lambda: "does not fit" in str(activity.render()))
        composer(pilot).put("")
        await say(pilot, "fine")
        assert "does not fit" not in str(activity.render())
