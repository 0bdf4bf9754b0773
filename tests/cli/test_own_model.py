"""`chatkv ask --session`: a session goes on with the model that it was held with, unless another is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from processes import Run
from tiny import save_tiny


def test_a_session_goes_on_with_its_own_model_while_that_is_here(run: Run, tmp_path: Path) -> None:
    own = save_tiny("qwen2", tmp_path / "own")
    assert run("-m", str(own), "ask", "hello", "-n", "2").returncode == 0
    goes_on = run("ask", "and", "--session", "last", "-n", "2")
    assert "held with" not in goes_on.stderr
    assert last_model(run) == "own"
    shutil.rmtree(own)
    gone = run("ask", "and", "--session", "last", "-n", "2")
    assert "chatkv: this session was held with own; tiny-llama goes on\n" in gone.stderr
    assert gone.stderr.count("held with") == 1
    assert last_model(run) == "tiny-llama"


def test_a_model_that_is_named_wins(run: Run, tmp_path: Path) -> None:
    named = save_tiny("qwen2", tmp_path / "named")
    assert run("ask", "hello", "-n", "2").returncode == 0
    done = run("-m", str(named), "ask", "and", "--session", "last", "-n", "2")
    assert "this session was held with tiny-llama; named goes on" in done.stderr
    assert last_model(run) == "named"


def last_model(run: Run) -> str:
    """Who wrote the newest answer."""
    shown = json.loads(run("sessions", "show", "last", "--json").stdout)
    model: str = shown["messages"][-1]["model"]
    return model
