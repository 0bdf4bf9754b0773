"""Calling a person back: only when the terminal is in the background and it took a while, in words it understands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual import events

from chatkv.tui.attention import Attention, call, titled
from chatkv.tui.memory.gauges import Gauges, TurnRow
from tui.driving import idle, make_app, ready, release, send, streaming

BUSY = Gauges(phase="decode", title="Birds")
DONE = Gauges(phase="idle", title="Birds", current=TurnRow(1, decoded=40))


class Clock:
    """Moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def heard(took_s: float, *, away: bool = True, on: bool = True, end: Gauges = DONE) -> list[str]:
    """What is called out when a turn took so long."""
    clock, called = Clock(), list[str]()
    attention = Attention(lambda: away, called.append, clock, on=on)
    attention.hear(replace(BUSY, phase="prefill"))
    clock.now = took_s
    for gauges in (BUSY, end, end):
        attention.hear(gauges)
    return called


def test_a_long_answer_in_the_background_is_told_once() -> None:
    assert heard(12.4) == ["Answered: 40 tokens in 12 s · Birds"]


def test_nothing_else_is() -> None:
    assert heard(2) == heard(12, away=False) == heard(12, on=False) == []
    assert heard(12, end=replace(DONE, phase="down")) == []


def test_an_error_is_told_and_made_inert() -> None:
    called: list[str] = []
    Attention(lambda: True, called.append, Clock(), on=True).fail("bad\x1b]0;x\x07\nthing")
    assert called == ["Error: bad␛]0;x␇ thing"]


@pytest.mark.parametrize(
    ("environ", "written"),
    [
        ({"TERM": "xterm-256color"}, "\a\x1b]9;chatkv: a, b\x1b\\"),
        ({"TERM": "foot"}, "\a\x1b]777;notify;chatkv;a, b\x1b\\"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, "\a\x1b]777;notify;chatkv;a, b\x1b\\"),
        ({"TERM": "tmux-256color", "TMUX": "/t"}, "\a\x1bPtmux;\x1b\x1b]9;chatkv: a, b\x1b\x1b\\\x1b\\"),
        ({"TERM": "screen"}, "\a"),
        ({"TERM": "dumb"}, "\a"),
        ({}, "\a"),
    ],
)
def test_what_is_written_to_which_terminal(environ: dict[str, str], written: str) -> None:
    assert call("a; b", environ) == written


def test_a_title_is_inert() -> None:
    assert titled("a\x07b\x1b", {"TERM": "xterm"}) == "\x1b]2;a␇b␛\x1b\\"
    assert titled("a", {"TERM": "dumb"}) == ""


async def test_the_app_calls_when_it_is_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, app = Clock(), None
    app = make_app(tmp_path, clock=clock)
    called: list[str] = []
    monkeypatch.setattr(app.attention, "_call", called.append)
    async with app.run_test(size=(110, 32)) as pilot:
        await ready(pilot)
        for away in (False, True):
            await send(pilot, "slow one")
            await streaming(pilot)
            app.post_message(events.AppBlur() if away else events.AppFocus())
            await pilot.pause()
            clock.now += 30
            release(pilot)
            await idle(pilot)
            await pilot.pause()
            assert len(called) == away
    assert called[0].startswith("Answered: ")
    assert called[0].endswith("tokens in 30 s · slow one")
