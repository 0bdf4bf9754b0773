"""Loading: attention is kept only where it proves itself, and what goes wrong is said in our words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import CONFIGS, save_tiny, tiny_model, tiny_tokenizer
from transformers import AutoModelForCausalLM
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from chatkv.config import LoadConfig
from chatkv.engine import attention
from chatkv.engine.loader import load_model, loaded_from
from chatkv.errors import ModelError
from chatkv.models import Progress, locate_model


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_kind_keeps_the_fast_attention(kind: str, dtype: torch.dtype) -> None:
    attention.register()
    model = AutoModelForCausalLM.from_config(CONFIGS[kind](), attn_implementation=attention.NAME, dtype=dtype)
    loaded = loaded_from(model.eval(), tiny_tokenizer(), name=kind, device="cpu")
    assert loaded.attention == attention.NAME
    assert loaded.notices == ()
    n_attention_layers = 1 if kind == "hybrid" else 2
    assert loaded.bytes_per_token == n_attention_layers * 2 * (8 + 8) * dtype.itemsize
    assert (loaded.fixed_bytes > 0) == (kind == "hybrid")


def test_attention_that_is_wrong_on_a_continued_prompt_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        n_new = query.shape[2]
        return attention.attend(module, query, key[:, :, -n_new:], value[:, :, -n_new:], None, **options)

    model = tiny_model("llama")
    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS._global_mapping, attention.NAME, forgetful)
    try:
        loaded = loaded_from(model, tiny_tokenizer(), name="x", device="cpu")
        assert loaded.attention == "sdpa"
        assert "sdpa" in loaded.notices[0]
    finally:
        model.set_attn_implementation(attention.NAME)


def test_a_folder_loads_with_progress(tmp_path: Path) -> None:
    files = locate_model(str(save_tiny("qwen3", tmp_path / "m")), tmp_path)
    seen: list[Progress] = []
    loaded = load_model(files, LoadConfig(device="cpu", dtype="float32", threads=1), seen.append)
    assert loaded.dtype is torch.float32
    assert loaded.context_tokens == 2048
    tensors = [progress for progress in seen if progress.unit == "tensors"]
    assert tensors[-1].done == tensors[-1].total > 10


def test_a_model_of_an_unknown_kind_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = save_tiny("llama", tmp_path / "m")
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"llama"', '"no_such_kind"'))
    with pytest.raises(ModelError) as caught:
        load_model(locate_model(str(folder), tmp_path), LoadConfig(device="cpu", threads=1), lambda _: None)
    assert "\n" not in caught.value.message
    assert caught.value.hint
