"""The progress bar class that the hub's client is given: draws nothing, counts bytes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from tqdm import tqdm  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from chatkv.models.progress import Meter


def bar_class(meter: Meter) -> type[Any]:
    """A `tqdm` whose byte bars move `meter`.

    The client opens one bar for bytes received and one for bytes written; the one ahead counts.
    """

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            options.pop("name", None)
            self._counts = options.get("unit") == "B"
            super().__init__(*args, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> None:
            with self.get_lock():
                self.n += n or 0
                done = int(self.n)
            if self._counts:
                meter.reach(done)

    # tqdm's own default lock starts a helper process, which fails where stderr is not a file.
    Bar.set_lock(threading.RLock())
    return Bar
