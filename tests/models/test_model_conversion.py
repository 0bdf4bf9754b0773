"""A GGUF file becomes the same model in safetensors, with the tokenizer it was trained with."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
import safetensors
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from chatkv.errors import ModelError
from chatkv.models.convert import convert_gguf
from chatkv.models.gguf_file import read_gguf
from chatkv.models.progress import Progress, ignore_progress
from chatkv.models.tensor_file import read_header, write_bfloat16
from models import tiny


def test_weights_equal_those_transformers_reads_from_the_same_gguf(tmp_path: Path) -> None:
    folder = tiny.write_folder(tmp_path / "model", seed=3)
    tiny.write_gguf(tmp_path / "tiny.gguf", seed=3)
    ours = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    theirs = AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file="tiny.gguf", dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    weights = ours.state_dict()
    assert weights.keys() == theirs.state_dict().keys()
    assert all(torch.equal(weights[name], value) for name, value in theirs.state_dict().items())
    ids = torch.arange(40)[None]
    assert torch.equal(ours(ids).logits, theirs(ids).logits)


def test_configuration_is_plain_and_says_bfloat16(tmp_path: Path) -> None:
    config = json.loads((tiny.write_folder(tmp_path / "model") / "config.json").read_text())
    assert "quantization_config" not in config
    assert (config["model_type"], config["dtype"]) == ("llama", "bfloat16")
    assert config["num_key_value_heads"] == tiny.KV_HEADS
    assert config["tie_word_embeddings"] is True


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("in 2023", ["in", "Ġ", "2", "0", "2", "3"]),
        (" 1,450", ["Ġ", "1", ",", "4", "5", "0"]),
        ("abc  12", ["abc", "ĠĠ", "1", "2"]),
        ("a1b", ["a", "1", "b"]),
        ("<|im_start|>in<|im_end|>", ["<|im_start|>", "in", "<|im_end|>"]),
    ],
)
def test_digits_are_split_one_by_one_before_anything_else(
    tmp_path: Path, text: str, tokens: list[str]
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny.write_folder(tmp_path / "model"))
    ids = tokenizer(text)["input_ids"]
    assert [tiny.vocabulary()[n] for n in ids] == tokens
    assert tokenizer.decode(ids) == text


def test_a_gpt2_vocabulary_keeps_its_own_split(tmp_path: Path) -> None:
    source = tiny.write_gguf(tmp_path / "tiny.gguf", pre="gpt-2")
    convert_gguf(source, tmp_path, ignore_progress)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert [tiny.vocabulary()[n] for n in tokenizer("in  12")["input_ids"]] == ["in", "Ġ", "Ġ", "1", "2"]


def test_special_tokens_and_template_come_from_the_file(tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny.write_folder(tmp_path / "model"))
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)
    assert tokenizer.chat_template == tiny.TEMPLATE
    assert tokenizer("in")["input_ids"] == [tiny.vocabulary().index("in")]


def test_progress_counts_every_tensor(tmp_path: Path) -> None:
    told: list[Progress] = []
    source = tiny.write_gguf(tmp_path / "tiny.gguf")
    convert_gguf(source, tmp_path, told.append)
    n_tensors = 2 + 9 * tiny.LAYERS
    assert told[-1] == Progress("converting", n_tensors, n_tensors, "tensors")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"architecture": "qwen2"}, "qwen2"),
        ({"pre": "llama-bpe"}, "llama-bpe"),
        ({"skip": "blk.1.ffn_up.weight"}, "model.layers.1.mlp.up_proj.weight"),
        ({"skip": "token_embd.weight"}, "token_embd.weight"),
    ],
)
def test_what_is_no_plain_llama_is_refused_by_name(
    tmp_path: Path, options: dict[str, str], named: str
) -> None:
    source = tiny.write_gguf(tmp_path / "odd.gguf", **options)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=named):
        convert_gguf(source, tmp_path, ignore_progress)


def test_header_agrees_with_the_gguf_package(tmp_path: Path) -> None:
    from gguf import GGUFReader

    source = tiny.write_gguf(tmp_path / "tiny.gguf")
    ours, theirs = read_gguf(source), GGUFReader(source)
    assert [(t.name, t.kind, t.offset) for t in ours.tensors] == [
        (t.name, int(t.tensor_type), t.data_offset) for t in theirs.tensors
    ]
    for name, value in ours.fields.items():
        assert value == theirs.fields[name].contents(), name


@settings(deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=64))
def test_bfloat16_rounds_as_torch_does(values: list[float]) -> None:
    array = np.array(values, dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.safetensors"
        write_bfloat16(path, {"x": array.shape}, lambda _: array, lambda _: None)
        with safetensors.safe_open(path, framework="pt") as file:
            found = file.get_tensor("x")
        assert read_header(path)["x"]["dtype"] == "BF16"
    assert torch.equal(found, torch.from_numpy(array).to(torch.bfloat16))
