"""A model is known again by what it is, and what is on this machine is listed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from chatkv.errors import ModelError
from chatkv.models import ModelFiles, file_digest, installed_models
from chatkv.models.starter import STARTER
from models import tiny


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.write_folder(tmp_path / "model")


def digest(folder: Path, gguf: str | None = None) -> str:
    return file_digest(ModelFiles("any", folder, gguf=gguf))


def test_a_copy_under_another_name_and_time_has_the_same_digest(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    for path in copy.iterdir():
        os.utime(path, (1, 1))
    (copy / "README.md").write_text("About this model.")
    (copy / "generation_config.json").write_text('{"temperature": 1}')
    assert digest(copy) == digest(model)


def test_links_as_in_the_hub_cache_have_the_same_digest(model: Path, tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.mkdir()
    for path in model.iterdir():
        (links / path.name).symlink_to(path)
    assert digest(links) == digest(model)


def test_other_weights_of_the_same_shapes_have_another_digest(model: Path, tmp_path: Path) -> None:
    other = tiny.write_folder(tmp_path / "other", seed=1)
    for path in model.iterdir():
        assert path.stat().st_size == (other / path.name).stat().st_size
    assert digest(other) != digest(model)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "chat_template.jinja"])
def test_each_file_that_shapes_the_kv_counts(model: Path, name: str) -> None:
    before = digest(model)
    with (model / name).open("ab") as file:
        file.write(b" ")
    assert digest(model) != before


def test_a_gguf_file_has_a_digest_of_its_own(tmp_path: Path) -> None:
    for seed in (0, 1):
        tiny.write_gguf(tmp_path / f"{seed}.gguf", seed=seed)
    shutil.copy(tmp_path / "0.gguf", tmp_path / "copy.gguf")
    assert digest(tmp_path, "0.gguf") != digest(tmp_path, "1.gguf")
    (tmp_path / "sub").mkdir()
    (tmp_path / "copy.gguf").rename(tmp_path / "sub" / "0.gguf")
    assert digest(tmp_path / "sub", "0.gguf") == digest(tmp_path, "0.gguf")


def test_a_change_in_the_last_byte_is_seen(model: Path) -> None:
    before = digest(model)
    weights = model / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert digest(model) != before


def test_a_vanished_model_is_an_error_with_words(model: Path) -> None:
    shutil.rmtree(model)
    with pytest.raises(ModelError, match="cannot be read"):
        digest(model)


def test_the_starter_model_and_complete_hub_models_are_listed(tmp_path: Path) -> None:
    folder, cache = tmp_path / "models", tmp_path / "hub"
    assert installed_models(folder, cache) == []
    starter = tiny.write_folder(folder / STARTER.folder_name)
    whole = tiny.write_folder(snapshot(cache, "acme", "tiny"))
    partial = tiny.write_folder(snapshot(cache, "acme", "partial"))
    (partial / "model.safetensors").unlink()
    quants = snapshot(cache, "acme", "quants")
    quants.mkdir(parents=True)
    gguf = tiny.write_gguf(quants / "tiny-Q8.gguf")
    (quants / "cut.gguf").write_bytes(gguf.read_bytes()[:-1000])

    found = installed_models(folder, cache)
    assert [(model.name, model.path, model.kind) for model in found] == [
        ("starter", starter, "starter"),
        ("acme/quants:tiny-Q8.gguf", gguf, "gguf"),
        ("acme/tiny", whole, "hub"),
    ]
    assert found[1].nbytes == gguf.stat().st_size
    assert found[2].nbytes == found[0].nbytes == sum(path.stat().st_size for path in whole.iterdir())


def snapshot(cache: Path, owner: str, name: str) -> Path:
    """Where the hub's client keeps the files of one commit."""
    (cache / f"models--{owner}--{name}" / "refs").mkdir(parents=True)
    return cache / f"models--{owner}--{name}" / "snapshots" / ("0" * 40)
