"""Whether a model is on this machine, as far as that shows without loading it and without asking the hub."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatkv.models.installed import find_model, find_problem, lasting, presumed_spec
from chatkv.models.starter import STARTER
from models import tiny
from models.test_model_known_again import snapshot


def test_the_starter_model_counts_as_here_before_it_was_fetched(tmp_path: Path) -> None:
    absent = find_model("starter", tmp_path)
    assert absent is not None
    assert (absent.nbytes, absent.kind) == (0, "starter")
    folder = tiny.write_folder(tmp_path / STARTER.folder_name)
    found = find_model("starter", tmp_path)
    assert found is not None
    assert found.nbytes == sum(path.stat().st_size for path in folder.iterdir())


def test_paths_and_cached_hub_models_are_here_and_all_else_is_not(tmp_path: Path) -> None:
    folder, cache = tmp_path / "models", tmp_path / "hub"
    mine = tiny.write_folder(tmp_path / "mine")
    file = tiny.write_gguf(tmp_path / "one.gguf")
    whole = tiny.write_folder(snapshot(cache, "acme", "tiny"))
    partial = tiny.write_folder(snapshot(cache, "acme", "partial"))
    (partial / "model.safetensors").unlink()
    quants = snapshot(cache, "acme", "quants")
    quants.mkdir(parents=True)
    gguf = tiny.write_gguf(quants / "q.gguf")
    (quants / "cut.gguf").write_bytes(gguf.read_bytes()[:-1000])
    for name in ("tiny", "partial", "quants"):
        (cache / f"models--acme--{name}" / "refs" / "main").write_text("0" * 40)
    here = {
        str(mine): (mine, "folder"),
        str(file): (file, "gguf"),
        "acme/tiny": (whole, "hub"),
        "acme/quants:q.gguf": (gguf, "gguf"),
    }
    for spec, (path, kind) in here.items():
        found = find_model(spec, folder, cache)
        assert found is not None, spec
        assert (found.name, found.path, found.kind) == (spec, path, kind)
        assert found.nbytes > 0
    gone = ("", "acme/partial", "acme/none", "acme/quants", "acme/quants:cut.gguf", str(tmp_path / "no"))
    for spec in (*gone, "a b", "a\0b", "~nobody-of-that-name/x", "x" * 5000, "a/b/c/d"):
        assert find_model(spec, folder, cache) is None, spec


@pytest.mark.parametrize("spec", ["starter", "org/name", "org/name:file.gguf"])
def test_what_may_be_a_model_has_no_problem(spec: str) -> None:
    assert find_problem(spec) == ""
    assert lasting(spec) == spec


@pytest.mark.parametrize("spec", ["./no", "no.gguf", "nonsense", "a\0b", "~nobody-of-that-name/x"])
def test_what_cannot_be_a_model_is_told(spec: str) -> None:
    assert find_problem(spec)
    assert lasting(spec) == spec


def test_a_path_means_the_same_folder_wherever_chatkv_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert lasting("mine") == lasting("./mine") == str(tmp_path / "mine")
    assert find_problem("mine") == ""


def test_a_display_name_tells_what_loads_it_only_where_it_can() -> None:
    names = {STARTER.name: "starter", "org/name": "org/name", "gpt-4o": "", "": "", "./x/y": "", "a/b/c": ""}
    assert {name: presumed_spec(name) for name in names} == names
