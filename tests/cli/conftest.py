"""`run` and `stdio`: the command line in a process of its own, on a tiny model and a home that no other test shares."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from processes import Run, Stdio, forked, program
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
    def call(
        *arguments: str, stdin: str = "", real: bool = False, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        return (program if real else forked)({**environment, **extra}, *arguments, stdin=stdin)

    return call


@pytest.fixture
def stdio(environment: dict[str, str]) -> Iterator[Callable[..., Stdio]]:
    started: list[Stdio] = []

    def start(*arguments: str, real: bool = False) -> Stdio:
        started.append(Stdio(environment, *arguments, real=real))
        return started[-1]

    yield start
    for one in started:
        one.close()
