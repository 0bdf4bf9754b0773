"""`run`: the command line in a process of its own, on a tiny model and a home that no other test shares."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from processes import Run, Stdio
from tiny import save_tiny


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny("llama", tmp_path_factory.mktemp("models") / "tiny-llama", endless=True)


@pytest.fixture
def environment(tmp_path: Path, tiny_folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("CHATKV_")}
    settings = {
        "CHATKV_HOME": str(tmp_path / "home"),
        "CHATKV_MODEL": str(tiny_folder),
        "CHATKV_SAMPLING_TEMPERATURE": "0",
        "CHATKV_LOAD_DTYPE": "float32",
        "CHATKV_LOAD_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    return {**kept, **settings}


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    def call(*arguments: str, stdin: str | None = None, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "chatkv", *arguments],
            input="" if stdin is None else stdin,
            capture_output=True,
            text=True,
            env={**environment, **extra},
            timeout=120,
            check=False,
        )

    return call


@pytest.fixture
def stdio(environment: dict[str, str]) -> Iterator[Callable[..., Stdio]]:
    started: list[Stdio] = []

    def start(*arguments: str) -> Stdio:
        started.append(Stdio(environment, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        for stream in (one.process.stdin, one.process.stdout):
            if stream is not None:
                stream.close()
