"""Exports the README's picture: the app itself in a real conversation with the starter model, figures and all.

Usage: `python scripts/screenshots.py [FOLDER]` writes FOLDER/screenshot.svg and .png (default: docs). The first run
fetches the starter model. The PNG needs cairosvg (`pip install '.[dev]'`).
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
from chatkv.tui.launch import usual_worker_argv

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
SETTINGS = {"sampling.temperature": 0.0, "sampling.max_new_tokens": 90, "memory.budget": "18 MiB"}
READING_S = 5.0
"""A person reads that long before the next message; idle work goes on meanwhile."""
SHOWN_AFTER_TOKENS = 60
PATIENCE_S = 300.0


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Let the app run until `true()`. Raises `TimeoutError` if it never is."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():
            await pilot.pause(0.05)


def has_turns(app: ChatkvApp, n_turns: int) -> bool:
    """Whether so many turns have ended."""
    return len(app.desk.gauges.rows) >= n_turns


def n_decoded(app: ChatkvApp) -> int:
    """Tokens of the answer that is being written."""
    current = app.desk.gauges.current
    return current.decoded if current is not None and current.live else 0


async def take() -> str:
    """The picture as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        paths = replace(locate(), database=Path(folder) / "chatkv.db", log_file=Path(folder) / "worker.log")
        config = Config()
        app = ChatkvApp(config, paths, worker_argv=usual_worker_argv(config, paths, SETTINGS))
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: app.desk.gauges.phase == "idle")
            for n, text in enumerate(SAID):
                app.desk.do(app.desk.conversation.submit(text))
                if n < len(SAID) - 1:
                    await until(pilot, partial(has_turns, app, n + 1))
                    await pilot.pause(READING_S)
            await until(pilot, lambda: n_decoded(app) >= SHOWN_AFTER_TOKENS)
            await pilot.pause(0.2)
            return app.export_screenshot(title="chatkv")


def main() -> None:
    """Write both files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    folder.mkdir(parents=True, exist_ok=True)
    svg = asyncio.run(take())
    (folder / "screenshot.svg").write_text(svg, encoding="utf-8")
    # Web fonts are not loaded for the PNG; this one is everywhere, and a hair narrower than the SVG's grid.
    local = svg.replace("Fira Code", "DejaVu Sans Mono").replace("font-size: 20px", "font-size: 20.26px")
    cairosvg.svg2png(bytestring=local.encode(), write_to=str(folder / "screenshot.png"), output_width=1600)


if __name__ == "__main__":
    main()
