"""What a person may write as `model`, and what a folder must hold to be one."""

from __future__ import annotations

import contextlib
import functools
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.errors import ModelError
from chatkv.models import ModelFiles, locate_model
from chatkv.models.gguf_file import GgufFile, read_gguf
from chatkv.models.resolve import looks_like_path
from models import child, tiny


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.write_folder(tmp_path / "my-model")


def refusal(spec: str | Path, trust_remote_code: bool = False) -> ModelError:
    with pytest.raises(ModelError) as caught:
        locate_model(str(spec), Path("unused"), trust_remote_code=trust_remote_code)
    assert caught.value.hint
    return caught.value


def shard(model: Path) -> tuple[Path, Path]:
    """Split the weights of `model` over two files with an index; the two files."""
    from safetensors.torch import load_file, save_file

    weights = load_file(model / "model.safetensors")
    (model / "model.safetensors").unlink()
    names = sorted(weights)
    first, second = model / "model-00001-of-00002.safetensors", model / "model-00002-of-00002.safetensors"
    save_file({name: weights[name] for name in names[:10]}, first)
    save_file({name: weights[name] for name in names[10:]}, second)
    weight_map = {name: (first if n < 10 else second).name for n, name in enumerate(names)}
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return first, second


def test_a_folder_by_absolute_relative_and_home_path(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    monkeypatch.setenv("HOME", str(model.parent))
    expected = ModelFiles("my-model", model)
    for spec in (str(model), "./my-model", "my-model", "~/my-model", f" {model}/ "):
        assert locate_model(spec, Path("unused")) == expected


def test_a_gguf_file(tmp_path: Path) -> None:
    tiny.write_gguf(tmp_path / "Tiny.gguf")
    found = locate_model(str(tmp_path / "Tiny.gguf"), Path("unused"))
    assert found == ModelFiles("Tiny", tmp_path, gguf="Tiny.gguf")
    assert "Tiny.gguf" in refusal(tmp_path).hint


@pytest.mark.parametrize(
    "spec",
    [
        "./org/name",
        "/org/name",
        "~/org/name",
        "../name",
        "org/name/",
        "a/b/c.gguf",
        "x.gguf",
        r"org\name",
        "C:/models/x",
        ".",
    ],
)
def test_what_is_spelled_like_a_path_is_never_asked_of_the_hub(spec: str) -> None:
    assert looks_like_path(spec)


@pytest.mark.parametrize("spec", ["org/name", "Qwen/Qwen3-4B", "a1/b_c.d", "org/name:file.gguf", "starter"])
def test_hub_ids_are_no_paths(spec: str) -> None:
    assert not looks_like_path(spec)


@settings(deadline=None)
@given(st.text(max_size=30), st.sampled_from(["./", "/", "~/", "../"]))
def test_no_text_after_a_path_start_reaches_the_hub(text: str, start: str) -> None:
    assert looks_like_path(start + text)


def test_path_typos_name_the_nearest(model: Path) -> None:
    error = refusal(model.parent / "my-modle")
    assert "does not exist" in error.message
    assert f"`{model}`" in error.hint
    assert "does not exist either" in refusal(model.parent / "nowhere" / "x").hint


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("startr", "Did you mean 'starter'?"),
        ("gpt2", "'org/name'"),
        ("", "'starter'"),
        ("https://huggingface.co/org/name", "only its 'org/name'"),
        ("a/b/c", "'starter'"),
        ("~nobody-of-this-name/x", "'starter'"),
        ("a\0b", "'starter'"),
    ],
)
def test_what_is_no_model_at_all_is_refused_with_a_hint(spec: str, hint: str) -> None:
    assert hint in refusal(spec).hint


def test_offline_an_unknown_hub_model_is_explained(tmp_path: Path) -> None:
    request = {"folder": str(tmp_path), "spec": "acme/tiny"}
    [(_, error)] = child.finish(child.start(request, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "hf")))
    assert "HF_HUB_OFFLINE" in error["error"]
    assert "starter" in error["hint"]


def test_a_sharded_model_is_whole_only_with_every_shard_whole(model: Path) -> None:
    first, second = shard(model)
    assert locate_model(str(model), Path("unused")).path == model
    whole = second.read_bytes()
    for nbytes in (len(whole) - 1, 100, 5, 0):
        second.write_bytes(whole[:nbytes])
        error = refusal(model)
        assert f"`{second}` is not whole" in error.message
    second.unlink()
    assert f"lacks 1 of 2 weight files: {second.name}" in refusal(model).message
    second.write_bytes(first.read_bytes())
    assert f"`{second}` lacks the tensor" in refusal(model).message


def test_an_index_cannot_lead_outside_its_folder(model: Path) -> None:
    (model / "model.safetensors.index.json").write_text('{"weight_map": {"x": "../secret.safetensors"}}')
    assert "outside its own folder" in refusal(model).message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", None, "no config.json"),
        ("config.json", b"{", "not valid JSON"),
        ("config.json", b"[]", "not a JSON object"),
        ("config.json", b"\xff\xfe", "not valid JSON"),
        ("tokenizer.json", None, "no tokenizer"),
        ("model.safetensors", None, "no weights"),
        ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        ("model.safetensors", b"<!DOCTYPE html><html>", "not a safetensors file"),
        ("model.safetensors", b"\x02\0\0\0\0\0\0\0[]", "not a safetensors file"),
        ("model.safetensors", b'\x08\0\0\0\0\0\0\0{"x": 1}', "not a safetensors file"),
        ("model.safetensors.index.json", b"{}", "no usable `weight_map`"),
    ],
)
def test_what_is_missing_or_damaged_is_named(
    model: Path, name: str, content: bytes | None, message: str
) -> None:
    (model / name).unlink(missing_ok=True)
    if content is not None:
        (model / name).write_bytes(content)
    assert message in refusal(model).message


def test_pickled_weights_and_adapters_are_refused(model: Path) -> None:
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    assert "pickled" in refusal(model).message
    (model / "config.json").rename(model / "adapter_config.json")
    assert "adapter" in refusal(model).message


def test_a_model_with_code_needs_the_code_where_it_may_run(model: Path) -> None:
    config = json.loads((model / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "modeling_tiny.Tiny", "AutoConfig": "other/repo--config.Tiny"}
    (model / "config.json").write_text(json.dumps(config))
    assert locate_model(str(model), Path("unused")).path == model
    assert "modeling_tiny.py" in refusal(model, trust_remote_code=True).message


def test_a_gguf_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = tiny.write_gguf(tmp_path / "tiny.gguf")
    whole = path.read_bytes()
    read_gguf(path)
    for nbytes in (*range(4, 3000, 97), len(whole) // 2, len(whole) - 100):
        path.write_bytes(whole[:nbytes])
        assert "is not whole" in refusal(path).message, nbytes
    path.write_bytes(b"PK")
    assert "not a GGUF file" in refusal(path).message


@settings(deadline=None, max_examples=60)
@given(changes=st.lists(st.tuples(st.integers(4, 6000), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_gguf_header_never_ends_in_a_traceback(changes: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiny.gguf"
        content = bytearray(gguf_bytes())
        for position, value in changes:
            content[position] = value
        path.write_bytes(content)
        with contextlib.suppress(ModelError):
            assert isinstance(read_gguf(path), GgufFile)


@functools.cache
def gguf_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return tiny.write_gguf(Path(folder) / "tiny.gguf").read_bytes()


def test_one_part_of_a_split_gguf_is_refused(tmp_path: Path) -> None:
    path = tiny.write_gguf(tmp_path / "tiny-00001-of-00002.gguf", parts=2)
    assert "one of 2 parts" in refusal(path).message


def test_a_file_that_is_no_model(model: Path) -> None:
    assert str(model) in refusal(model / "model.safetensors").hint
