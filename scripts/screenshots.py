"""Exports the README's picture: the app itself, driven through a scripted conversation. No model is needed.

Usage: `python scripts/screenshots.py [FOLDER]` writes FOLDER/screenshot.svg and .png (default: docs). The PNG needs
cairosvg (`pip install '.[dev]'`).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import cairosvg  # type: ignore[import-untyped]

from chatkv.config import Config
from chatkv.paths import Paths
from chatkv.protocol import Accepted, Delta, Event, Kv, Opened, Prefill, Ready, Turn
from chatkv.tui.app import ChatkvApp

SIZE = (124, 38)
MODEL = "SmolLM2-135M-Instruct"
BYTES_PER_TOKEN = 23_040
BUDGET_BYTES = 192 << 20
CONTEXT_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class Scene:
    """A question, its answer, and what the turn cost in tokens and seconds."""

    question: str
    answer: str
    prefilled: int
    decoded: int
    ttft_s: float


SCENES = (
    Scene(
        "I have 400 log files. How do I find the slow requests?",
        "Filter by duration, then sort.",
        412,
        236,
        0.61,
    ),
    Scene("They are JSON, one object a line.", "Then read them line by line.", 21, 310, 0.09),
    Scene("Some lines are broken.", "Skip what does not parse, and count it.", 17, 188, 0.08),
    Scene("How long would that take?", "About a second for 400 files.", 19, 142, 0.08),
    Scene("Could I keep only the ten slowest?", "Yes: `heapq.nlargest` does that.", 20, 265, 0.09),
    Scene(
        "Show me the whole thing.",
        """Here it is; it never holds more than ten lines in memory:

```python
import heapq, json
from pathlib import Path

def records(folder: Path):
    for file in folder.glob("*.log"):
        for line in file.open():
            try:
                yield json.loads(line)
            except ValueError:
                continue  # a broken line

slowest = heapq.nlargest(10, records(Path("logs")), key=lambda r: r["ms"])
```

- `nlargest` keeps **ten** records, however many there are
- broken lines are skipped
""",
        16,
        171,
        0.08,
    ),
)
LAST = "And as a table of URL and milliseconds?"
LAST_ANSWER = "Print it with two columns: the URL, then"


def kv(n_tokens: int) -> Kv:
    """The cache with `n_tokens` in it."""
    reserved = (n_tokens + 511) // 512 * 512
    return Kv(n_tokens, n_tokens * BYTES_PER_TOKEN, reserved * BYTES_PER_TOKEN, BUDGET_BYTES, CONTEXT_TOKENS)


def script() -> list[tuple[str, list[Event]]]:
    """What is said, and what the worker answers to it."""
    said: list[tuple[str, list[Event]]] = []
    held = 0
    for n, scene in enumerate(SCENES, start=1):
        ids = (2 * n - 1, 2 * n)
        reused, held = held, held + scene.prefilled + scene.decoded
        state = kv(held)
        turn = Turn(
            *(
                n,
                *ids,
                "stop",
                reused,
                scene.prefilled,
                4 if reused else 0,
                scene.decoded,
                0,
                scene.ttft_s,
                0.0148,
            ),
            *(state.used_bytes, state.reserved_bytes, state.budget_bytes, held),
        )
        answer: list[Event] = [Accepted(n, *ids, scene.question), Delta(ids[1], scene.answer), state, turn]
        said.append((scene.question, answer))
    n = len(SCENES) + 1
    words: list[Event] = [Delta(2 * n, f"{word} ") for word in LAST_ANSWER.split()]
    said.append((LAST, [Accepted(n, 2 * n - 1, 2 * n, LAST), Prefill(22, 22), *words, kv(held + 30)]))
    return said


async def take() -> str:
    """The picture as SVG."""
    folder = Path(tempfile.mkdtemp())
    paths = Paths(folder / "config.toml", folder / "chatkv.db", folder / "models", folder / "worker.log")
    ticks = iter(range(10**6))
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    app = ChatkvApp(Config(), paths, worker_argv=silent, clock=lambda: next(ticks) * 0.015)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.5)
        app.desk.hear(Ready(MODEL, "cpu", "bfloat16", CONTEXT_TOKENS, BYTES_PER_TOKEN, 0.9))
        app.desk.hear(Opened("demo", "Finding slow requests", MODEL))
        for question, answer in script():
            app.desk.do(app.desk.conversation.submit(question))
            for event in answer:
                app.desk.hear(event)
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
