"""Compares the app with stored pictures of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from textual.pilot import Pilot
from textual.widgets import Input

from chatkv.tui.app import ChatkvApp
from tui.driving import settled

Compare = Callable[..., bool]
Act = Callable[[Pilot[None]], Awaitable[None]]
WIDE = (110, 34)


def picture(app: ChatkvApp, snap_compare: Compare, act: Act, size: tuple[int, int] = WIDE) -> bool:
    """Compare the app after `act` with its stored picture. Notices that fly in are taken away: they pass by time."""

    async def run(pilot: Pilot[None]) -> None:
        await act(pilot)
        for screen in pilot.app.screen_stack:
            for box in screen.query(Input):
                box.cursor_blink = False
        pilot.app.clear_notifications()
        await settled(pilot)

    return snap_compare(app, terminal_size=size, run_before=run)
