"""The app with real worker processes: a session goes from one tiny model to another, and is resumed with that."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny import save_tiny

from chatkv.config import Config
from chatkv.store import Store
from chatkv.tui.app import ChatkvApp
from tui.driving import chat_of, places, ready, say, send, states
from tui.model_key_checks import answers

SIZE = (110, 32)


def app_on(model: Path, folder: Path, resume: str | None = None) -> ChatkvApp:
    config = Config(model=str(model))
    return ChatkvApp(config, places(folder), open_session=resume, hub_cache=folder / "hub")


def answered_by(folder: Path) -> list[str | None]:
    with Store.open(places(folder).database, read_only=True) as store:
        path = store.path(store.resolve("last").leaf_id)
        return [message.model for message in path if message.role == "assistant"]


@pytest.mark.slow
async def test_a_session_changes_its_model_and_is_resumed_with_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATKV_HOME", str(tmp_path))
    settings = {"LOAD_DTYPE": "float32", "LOAD_THREADS": "1", "SAMPLING_MAX_NEW_TOKENS": "4"}
    for key, value in settings.items():  # the worker reads them by itself
        monkeypatch.setenv(f"CHATKV_{key}", value)
    one, two = (save_tiny(kind, tmp_path / kind) for kind in ("llama", "qwen2"))
    async with app_on(one, tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await send(pilot, f"/model {two}")
        await answers(pilot, "qwen2")
        await say(pilot, "and on")
    with Store.open(places(tmp_path).database, read_only=True) as store:
        record = store.resolve("last")
        assert (record.model, record.spec) == ("qwen2", str(two))
    assert answered_by(tmp_path) == ["llama", "qwen2"]
    async with app_on(one, tmp_path, "last").run_test(size=SIZE) as pilot:
        await answers(pilot, "qwen2")
        assert not chat_of(pilot).held.differs
        await say(pilot, "once more")
        assert len(states(pilot)) == 3
    assert answered_by(tmp_path) == ["llama", "qwen2", "qwen2"]
