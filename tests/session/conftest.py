"""What several tests of sessions begin with: a host on a tiny model, failing fast; a disk that is worth reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hosting import Chat
from tiny import save_tiny

from chatkv import answer, host, models
from chatkv.config import LoadConfig
from chatkv.engine.loader import LoadedModel, load_model
from chatkv.session.finding import Finder
from chatkv.store import steady


@pytest.fixture(scope="session")
def endless_model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder: Path = save_tiny("llama", tmp_path_factory.mktemp("models") / "tiny-llama", endless=True)
    files = models.locate_model(str(folder), folder)
    return load_model(files, LoadConfig(dtype="float32", threads=1), lambda _: None)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, endless_model: LoadedModel) -> None:
    monkeypatch.setattr(models, "locate_model", lambda *_, **__: None)  # it is loaded once for all tests
    monkeypatch.setattr(host, "load_model", lambda *_: endless_model)
    monkeypatch.setattr(steady, "_PATIENCE_MS", 20)
    monkeypatch.setattr(steady, "_IMPATIENCE_MS", 20)
    monkeypatch.setattr(steady, "RETRY_S", 3600.0)  # tests say when time has passed
    monkeypatch.setattr(answer, "FLUSH_EVERY_S", 0.0)


@pytest.fixture
def chat(impatient: None, tmp_path: Path) -> Iterator[Chat]:
    chat = Chat(tmp_path / "home")
    yield chat
    chat.host.close()


@pytest.fixture
def reading_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models this small compute faster than a busy disk reads."""
    monkeypatch.setattr(Finder, "is_faster", lambda *_: True)
