"""What lasts: KV that comes back from disk, a database that cannot be written, a session held with another model."""

from __future__ import annotations

from pathlib import Path

from chatkv.protocol import Accepted, Ready, Restored, Saving
from chatkv.store import Store
from chatkv.tui.memory.meter import Meter
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.talk.telling import told
from chatkv.tui.widgets.activity import spoken
from tui.driving import composer, make_app, places, ready, say, sees, send, settled, shown, states, streaming

SIZE = (110, 32)


def meter() -> Meter:
    gauge = Meter(lambda: 0.0)
    gauge.on_event(Ready("m", "cpu", "f32", 8192, 1, 0.1))
    return gauge


def test_reading_from_disk_is_a_bar_only_when_it_takes_a_while() -> None:
    gauge = meter()
    gauge.on_event(Restored("reading", 100, 400, 1 << 20, 0.2))
    assert spoken(gauge.gauges) == ("", 0, 0, "")
    gauge.on_event(Restored("reading", 200, 400, 2 << 20, 0.7))
    words = "reading from disk · 200 of 400 tokens"
    assert spoken(gauge.gauges) == (words, 200, 400, "")
    gauge.on_event(Restored("done", 400, 420, 4 << 20, 1.2))
    assert spoken(gauge.gauges)[0] == "400 of 420 tokens came from disk in 1.20 s · 4.0 MiB"
    gauge.on_event(Accepted(1, 1, 2, "hi"))
    assert "disk" not in spoken(gauge.gauges)[0]


def test_what_came_from_disk_and_why_it_did_not_is_told() -> None:
    done = told(Restored("done", 400, 420, 4 << 20, 1.2))
    assert done is not None
    assert done.text == "400 of 420 tokens came from disk in 1.20 s · 4.0 MiB."
    refused = told(Restored("refused", 0, 420, reason="another model."))
    assert refused is not None
    assert refused.text == "The KV on disk is not used: another model."
    assert told(Restored("reading", 1, 2)) is None


def test_the_warning_lasts_until_saving_works_again() -> None:
    gauge = meter()
    gauge.on_event(Saving(ok=False, reason="the disk is full"))
    gauge.on_event(Accepted(1, 1, 2, "hi"))
    assert gauge.gauges.unsaved == "the disk is full"
    gauge.on_event(Saving(ok=True))
    assert gauge.gauges.unsaved == ""


async def test_a_database_that_cannot_be_written_is_said_for_as_long_as_it_lasts(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "unsaved")
        await sees(pilot, "Not saved: the disk is full. It is kept in memory")
        await say(pilot, "still")
        await sees(pilot, "▪ Not saved: the disk is full.")
        await say(pilot, "saved")
        await sees(pilot, "Everything is saved again")
        await settled(pilot)
        assert "▪ Not saved" not in shown(pilot)
        assert states(pilot) == ["complete"] * 3


async def test_one_may_send_while_the_disk_is_read(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "restoring")
        await sees(pilot, "reading from disk · 1,024 of 4,096 tokens", "━")
        await send(pilot, "slow one")
        await streaming(pilot)
        await pilot.press("escape")


async def test_another_model_is_named_until_something_is_said_with_this_one(tmp_path: Path) -> None:
    with Store.open(places(tmp_path).database) as store:
        session = store.create_session("big/\x1b[31mmodel", "held elsewhere")
        store.add_exchange(session.id, None, "x", 1, "big/model")
    async with make_app(tmp_path, resume="last", model_typed=True).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await sees(pilot, "Held with big/␛[31mmodel; tiny-echo goes on with it.")
        composer(pilot).put("go on")
        await pilot.press("enter")
        await sees(pilot, "You said: go on")
        assert isinstance(pilot.app.screen, ChatScreen)
        await settled(pilot)
        assert "Held with" not in shown(pilot)
