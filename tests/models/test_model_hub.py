"""Hub models: downloaded with progress, used from the cache, and every failure told with a way on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatkv.models.progress import Progress
from models import child, tiny
from models.servers import COMMIT, Hub, serve


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    repo = tiny.write_folder(tmp_path / "repos" / "tiny")
    (repo / "README.md").write_text("Not needed.")
    (repo / "pytorch_model.bin").write_bytes(b"pickled")
    (repo / "modeling_tiny.py").write_text("raise SystemExit")
    return Hub({"acme/tiny": repo})


@pytest.fixture
def url(hub: Hub) -> Iterator[str]:
    with serve(hub) as address:
        yield address


def locate(home: Path, url: str, *specs: str, offline: bool = False, **options: Any) -> list[child.Outcome]:
    """`locate_model` for each of `specs`, in a process whose only hub is `url`."""
    requests = [{"folder": str(home / "models"), "spec": spec, "options": options} for spec in specs]
    environment = {"HF_ENDPOINT": url, "HF_HOME": str(home / "hf"), "HF_HUB_OFFLINE": str(int(offline))}
    return child.finish(child.start(*requests, HF_HUB_DISABLE_TELEMETRY="1", **environment))


def copy_repo(hub: Hub, name: str) -> Path:
    """Another repository with the files of `acme/tiny`."""
    folder = hub.repos["acme/tiny"].parent / name
    shutil.copytree(hub.repos["acme/tiny"], folder)
    hub.repos[f"acme/{name}"] = folder
    return folder


def resolved(hub: Hub) -> list[str]:
    """Names of the files asked for, in order."""
    return [path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path]


def test_a_model_is_downloaded_with_progress_then_found_without_asking(
    tmp_path: Path, hub: Hub, url: str
) -> None:
    (told, result), (told_again, again) = locate(tmp_path, url, "acme/tiny", "acme/tiny")
    assert (result["name"], result["revision"], result["gguf"]) == ("acme/tiny", COMMIT, None)
    folder, source = Path(result["path"]), hub.repos["acme/tiny"]
    assert (folder / "model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()
    assert {path.name for path in folder.iterdir()} == {
        "chat_template.jinja", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"
    }  # fmt: skip
    nbytes = (source / "model.safetensors").stat().st_size
    assert told[-1] == Progress("downloading acme/tiny", nbytes, nbytes, "B")
    assert all(0 <= progress.done <= progress.total for progress in told)
    assert (told_again, again) == ([], result)

    hub.asked.clear()
    [(_, offline)] = locate(tmp_path, url, "acme/tiny", offline=True)
    assert (offline, hub.asked) == (result, [])


def test_an_interrupted_download_is_noticed_and_completed(tmp_path: Path, hub: Hub, url: str) -> None:
    hub.cut = "model.safetensors"
    [(_, cut)] = locate(tmp_path, url, "acme/tiny")
    assert "what was downloaded is kept" in cut["hint"]
    # All that a model needs beside its weights was there before them: whole weights mean a whole model.
    names = resolved(hub)
    others = set(names) - {"model.safetensors"}
    assert "tokenizer.json" in others
    assert max(map(names.index, others)) < names.index("model.safetensors")
    [(_, offline)] = locate(tmp_path, url, "acme/tiny", offline=True)
    assert "not complete on this machine" in offline["error"]
    assert "HF_HUB_OFFLINE" in offline["hint"]
    hub.cut = ""
    [(_, result)] = locate(tmp_path, url, "acme/tiny")
    source = hub.repos["acme/tiny"] / "model.safetensors"
    assert (Path(result["path"]) / "model.safetensors").read_bytes() == source.read_bytes()


def test_a_weight_file_damaged_in_the_cache_is_fetched_again(tmp_path: Path, hub: Hub, url: str) -> None:
    [(_, result)] = locate(tmp_path, url, "acme/tiny")
    weights = Path(result["path"]) / "model.safetensors"
    whole = weights.read_bytes()
    weights.resolve().write_bytes(whole[:-100])
    [(told, again)] = locate(tmp_path, url, "acme/tiny")
    assert again == result
    assert weights.read_bytes() == whole
    assert told[-1].done == told[-1].total == len(whole)


def test_shards_come_by_their_index_and_code_only_if_trusted(tmp_path: Path, hub: Hub, url: str) -> None:
    source = hub.repos["acme/tiny"]
    (source / "model.safetensors").rename(source / "model-00001-of-00001.safetensors")
    (source / "consolidated.safetensors").write_bytes(b"the same again")
    index = {"weight_map": {"model.norm.weight": "model-00001-of-00001.safetensors"}}
    (source / "model.safetensors.index.json").write_text(json.dumps(index))
    [(_, result)] = locate(tmp_path, url, "acme/tiny", trust_remote_code=True)
    names = {path.name for path in Path(result["path"]).iterdir()}
    assert {"model-00001-of-00001.safetensors", "modeling_tiny.py"} <= names
    assert not {"consolidated.safetensors", "pytorch_model.bin"} & names


def test_one_gguf_file_of_a_repository(tmp_path: Path, hub: Hub, url: str) -> None:
    folder = tmp_path / "repos" / "quants"
    folder.mkdir()
    tiny.write_gguf(folder / "tiny-Q8.gguf")
    hub.repos["acme/quants"] = folder
    specs = ("acme/quants:tiny-Q8.gguf", "acme/quants", "acme/quants:tiny-Q4.gguf")
    (_, result), (_, unnamed), (_, absent) = locate(tmp_path, url, *specs)
    assert (result["gguf"], result["revision"]) == ("tiny-Q8.gguf", COMMIT)
    assert (Path(result["path"]) / "tiny-Q8.gguf").read_bytes() == (folder / "tiny-Q8.gguf").read_bytes()
    assert "acme/quants:tiny-Q8.gguf" in unnamed["hint"]
    assert "no file `tiny-Q4.gguf`" in absent["error"]
    assert "tiny-Q8.gguf" in absent["hint"]


def test_missing_gated_and_pickled_say_what_to_do(tmp_path: Path, hub: Hub, url: str) -> None:
    copy_repo(hub, "gated")
    hub.gated.add("acme/gated")
    (copy_repo(hub, "pickled") / "model.safetensors").unlink()
    specs = ("acme/tinny", "acme/gated", "acme/pickled", "acme/a--b")
    (_, missing), (_, gated), (told, pickled), (_, invalid) = locate(tmp_path, url, *specs)
    assert "no model `acme/tinny`, or it is private" in missing["error"]
    assert "gated" in gated["error"]
    assert "hf auth login" in gated["hint"]
    assert "starter" in gated["hint"]
    assert "pickled" in pickled["error"]
    assert not any("downloading" in progress.stage for progress in told)
    assert "cannot be a hub id" in invalid["error"]


def test_an_unknown_revision_is_named(tmp_path: Path, url: str) -> None:
    [(_, unknown)] = locate(tmp_path, url, "acme/tiny", revision="v9")
    assert "no revision `v9`" in unknown["error"]


def test_a_hub_in_trouble_or_out_of_reach(tmp_path: Path, hub: Hub, url: str) -> None:
    hub.status = 418
    [(_, troubled)] = locate(tmp_path, url, "acme/tiny")
    assert "status 418" in troubled["error"]
    [(_, unreachable)] = locate(tmp_path, "http://127.0.0.1:9", "acme/tiny")
    assert "could not be fetched from http://127.0.0.1:9" in unreachable["error"]
    assert "network" in unreachable["hint"]


def test_refresh_asks_again_and_fetches_only_what_changed(tmp_path: Path, hub: Hub, url: str) -> None:
    [(_, result)] = locate(tmp_path, url, "acme/tiny")
    hub.asked.clear()
    [(_, again)] = locate(tmp_path, url, "acme/tiny", refresh=True)
    assert again == result
    assert any(path.startswith("/api/models/acme/tiny") for path in hub.asked)
    assert resolved(hub) == []

    hub.commit = COMMIT[::-1]
    source = hub.repos["acme/tiny"]
    tiny.write_folder(source.parent / "retrained", seed=5)
    (source.parent / "retrained" / "model.safetensors").rename(source / "model.safetensors")
    [(_, moved)] = locate(tmp_path, url, "acme/tiny", refresh=True)
    assert moved["revision"] == hub.commit
    assert (Path(moved["path"]) / "model.safetensors").read_bytes() == (
        source / "model.safetensors"
    ).read_bytes()
    [(_, pinned)] = locate(tmp_path, url, "acme/tiny", offline=True, revision=COMMIT)
    assert pinned == result  # the older commit is still whole
