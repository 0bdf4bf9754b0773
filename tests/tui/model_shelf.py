"""Models on this machine for tests of the choice: hub models that are whole as far as a look at their files tells."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from chatkv.store import Store
from chatkv.tui.screens.models import ModelList, ModelScreen
from tui.driving import composer, places, until

HEADER = json.dumps({"w": {"dtype": "F32", "shape": [256], "data_offsets": [0, 1024]}}).encode()
WEIGHTS = len(HEADER).to_bytes(8, "little") + HEADER + bytes(1024)
OTHER = "org/other"


def write_folder(folder: Path, n_more: int = 0) -> Path:
    """A folder that looks like a model; `n_more` bytes larger."""
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (folder / "tokenizer.json").write_text("{}".ljust(n_more + 2))
    return folder


def shelve(folder: Path, *names: str) -> None:
    """Put hub models into the cache of the app under `folder`."""
    for n, name in enumerate(names):
        repo = folder / "hub" / f"models--{name.replace('/', '--')}"
        write_folder(repo / "snapshots" / ("0" * 40), n * 100_000)
        (repo / "refs").mkdir()
        (repo / "refs" / "main").write_text("0" * 40)


def held(folder: Path, model: str, spec: str = "") -> str:
    """A session that was held with this model; its id."""
    with Store.open(places(folder).database) as store:
        session = store.create_session(model, "Held elsewhere", spec=spec)
        _, answer = store.add_exchange(session.id, None, "What is a kingfisher?", 1, model)
        store.update_answer(answer.id, text="A bird.", thought="", ids=(), answer_start=0, status="complete")
        return session.id


async def choosing(pilot: Pilot[None], open_it: Callable[[], object] | str = "ctrl+l") -> ModelList:
    """The choice in front, its list read."""
    if isinstance(open_it, str):
        await pilot.press(open_it)
    await until(pilot, lambda: isinstance(pilot.app.screen, ModelScreen))
    marked = pilot.app.screen.query_one(ModelList)
    await until(pilot, lambda: marked.option_count > 1)
    return marked


async def write(pilot: Pilot[None], text: str) -> None:
    """Write `text` and press Enter, whatever comes of it."""
    composer(pilot).put(text)
    await pilot.press("enter")
