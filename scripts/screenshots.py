"""Exports pictures of the app in a real conversation with the starter model, through compaction and recall.

Usage: `python scripts/screenshots.py [FOLDER]` (default: docs) writes the README's picture, FOLDER/screenshot.svg, the
others into FOLDER/screens, and a PNG of each into FOLDER/png, which is not kept. The first run fetches the starter
model. The PNGs need cairosvg (`pip install '.[dev]'`).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import cairosvg  # type: ignore[import-untyped]
from textual.pilot import Pilot

from chatkv.config import Config
from chatkv.paths import locate
from chatkv.tui.app import ChatkvApp
from chatkv.tui.behind.launch import usual_worker_argv
from chatkv.tui.widgets.writing.composer import Composer

SIZE = (124, 46)
SAID = (
    "Hello! I am Ada. On Saturday 14 June I bake a cake for my brother Tom.",
    "Tom cannot eat nuts. What kind of cake would you suggest?",
    "How long does a sponge cake take in the oven?",
    "And what goes into a lemon glaze?",
    "How do I keep it fresh until Sunday?",
    "What should I write on the cake? One line.",
    "Suggest a drink that goes with it.",
    "On which day do I bake, and for whom?",
    "Write a Python function that doubles the amounts of a recipe.",
)
DRAFTED, ASKED_BACK = 3, 7
"""Before this message a picture of its draft is taken; behind that one, of what was recalled for it."""
SETTINGS = {"sampling.temperature": 0.0, "sampling.max_new_tokens": 90, "memory.budget": "14 MiB"}
READING_S = 5.0
"""A person reads that long before the next message; idle work goes on meanwhile."""
SHOWN_AFTER_TOKENS = 60
PATIENCE_S = 300.0


class Camera:
    """Takes pictures of the app by name."""

    def __init__(self, pilot: Pilot[None], app: ChatkvApp) -> None:
        self.pilot, self.app = pilot, app
        self.taken: dict[str, str] = {}

    async def until(self, true: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
        """Let the app run until `true()`. Raises `TimeoutError` if it never is."""
        async with asyncio.timeout(patience_s):
            while not true():
                await self.pilot.pause(0.05)

    async def take(self, name: str) -> None:
        """A picture of now, once what moves has come to rest."""
        self.app.clear_notifications()
        await self.pilot.pause(0.4)
        self.taken[name] = self.app.export_screenshot(title="chatkv")

    async def watch(self) -> None:
        """A picture of the first compaction that is seen running."""
        await self.until(lambda: self.app.desk.gauges.compaction is not None, 10 * PATIENCE_S)
        await self.take("4-compaction")


def has_turns(app: ChatkvApp, n_turns: int) -> bool:
    """Whether so many turns have ended."""
    return len(app.desk.gauges.rows) >= n_turns


def n_decoded(app: ChatkvApp) -> int:
    """Tokens of the answer that is being written."""
    current = app.desk.gauges.current
    return current.decoded if current is not None and current.live else 0


async def talk(camera: Camera) -> None:
    """The conversation, with pictures on the way."""
    app, pilot = camera.app, camera.pilot
    await camera.until(lambda: app.desk.gauges.phase == "idle")
    await camera.take("1-welcome")
    watching = asyncio.create_task(camera.watch())
    composer = app.chat.query_one(Composer)
    for n, text in enumerate(SAID):
        composer.put(text)
        await pilot.pause(READING_S / 2)
        if n == DRAFTED:
            await camera.take("2-draft-read-ahead")
        await pilot.press("enter")
        if n == len(SAID) - 1:
            break
        await camera.until(partial(has_turns, app, n + 1))
        await pilot.pause(READING_S / 2)
        if n == DRAFTED:
            await pilot.press("ctrl+up")
            await camera.take("3-a-turn-and-its-keys")
            await pilot.press("escape")
        if n == ASKED_BACK:
            await camera.take("5-recall")
    await camera.until(lambda: n_decoded(app) >= SHOWN_AFTER_TOKENS or has_turns(app, len(SAID)))
    watching.cancel()
    await camera.take("screenshot")
    await camera.until(partial(has_turns, app, len(SAID)))
    for key, name in (("f10", "6-settings"), ("ctrl+l", "7-models"), ("f12", "8-events"), ("f1", "9-help")):
        await pilot.press(key)
        await pilot.pause(1)
        await camera.take(name)
        await pilot.press("escape")
        await pilot.pause(0.5)


async def take() -> dict[str, str]:
    """All pictures as SVG, by name."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        files = {"config_file": home / "config.toml", "log_file": home / "worker.log"}
        paths = replace(locate(), database=home / "chatkv.db", **files)
        config = Config()
        app = ChatkvApp(config, paths, worker_argv=usual_worker_argv(config, paths, SETTINGS))
        async with app.run_test(size=SIZE) as pilot:
            camera = Camera(pilot, app)
            await talk(camera)
            return camera.taken


def main() -> None:
    """Write all files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for name in ("screens", "png"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, svg in asyncio.run(take()).items():
        place = folder if name == "screenshot" else folder / "screens"
        (place / f"{name}.svg").write_text(svg, encoding="utf-8")
        # Web fonts are not loaded for the PNG; this one is everywhere, and a hair narrower than the SVG's grid.
        local = svg.replace("Fira Code", "DejaVu Sans Mono").replace("font-size: 20px", "font-size: 20.26px")
        png = folder / "png" / f"{name}.png"
        cairosvg.svg2png(bytestring=local.encode(), write_to=str(png), output_width=1600)


if __name__ == "__main__":
    main()
