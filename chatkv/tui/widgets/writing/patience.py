"""Reading that may take long, in a thread: only the keys of the widget that asked wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from textual.widget import Widget

from chatkv.tui.inert import one_line

_SLOW_S = 0.5
_Read = TypeVar("_Read")


async def patiently(widget: Widget, read: Callable[[], _Read], waits: str) -> _Read:
    """What `read` gives; what it raises. Says `waits` where that takes long."""
    reading = asyncio.ensure_future(asyncio.to_thread(read))
    done, _ = await asyncio.wait([reading], timeout=_SLOW_S)
    if not done:
        widget.notify(one_line(waits), markup=False)
    return await reading
