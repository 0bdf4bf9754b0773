"""Random models of every layer kind, small enough to run by the hundred, with a byte-level tokenizer."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    AutoModelForCausalLM,
    CohereConfig,
    Gemma3TextConfig,
    GlmConfig,
    LlamaConfig,
    MistralConfig,
    Phi3Config,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
    Qwen3NextConfig,
    StableLmConfig,
)

from chatkv.engine import attention
from chatkv.engine.loader import LoadedModel, loaded_from

torch.set_num_threads(1)  # models this small only wait for each other's threads

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WINDOW = 24
_COMMON: dict[str, Any] = {
    "vocab_size": 259 + 13,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 2048,
    "initializer_range": 0.4,
    "eos_token_id": 2,
    "bos_token_id": 0,
    "pad_token_id": 0,
    "tie_word_embeddings": False,
}
_SLIDING: dict[str, Any] = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
CONFIGS: dict[str, Any] = {
    "llama": lambda: LlamaConfig(**_COMMON),
    "qwen2": lambda: Qwen2Config(**_COMMON),
    "qwen3": lambda: Qwen3Config(**_COMMON),
    "gemma3": lambda: Gemma3TextConfig(**_COMMON, **_SLIDING),
    "mistral": lambda: MistralConfig(**_COMMON, sliding_window=WINDOW),
    "phi3": lambda: Phi3Config(**_COMMON),
    "hybrid": lambda: Qwen3NextConfig(
        **_COMMON,
        layer_types=["linear_attention", "full_attention"],
        linear_num_value_heads=4,
        linear_num_key_heads=2,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        linear_conv_kernel_dim=3,
        num_experts=0,
        decoder_sparse_step=1,
        mlp_only_layers=[0, 1],
    ),
}
_LLAMA3: dict[str, Any] = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 256,
}
_YARN: dict[str, Any] = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}
_LONG: dict[str, Any] = {
    "rope_type": "longrope",
    "factor": 4.0,
    "original_max_position_embeddings": 512,
    "short_factor": [1.0] * 4,
    "long_factor": [1.5] * 4,
}
ROPES: dict[str, Any] = {
    "linear": lambda: LlamaConfig(**_COMMON, rope_parameters=_rope(rope_type="linear", factor=4.0)),
    "llama3": lambda: LlamaConfig(**_COMMON, rope_parameters=_rope(**_LLAMA3)),
    "yarn": lambda: LlamaConfig(**_COMMON, rope_parameters=_rope(**_YARN)),
    "cohere": lambda: CohereConfig(**_COMMON, logit_scale=1.0),
    "glm": lambda: GlmConfig(**_COMMON),
    "stablelm": lambda: StableLmConfig(**_COMMON),
}
"""Positions told in other ways: scaled frequencies, neighbouring pairs (`cohere`), a part of the dimensions."""
UNMOVABLE: dict[str, Any] = {
    "dynamic": lambda: LlamaConfig(**_COMMON, rope_parameters=_rope(rope_type="dynamic", factor=4.0)),
    "longrope": lambda: LlamaConfig(**_COMMON, rope_parameters=_rope(**_LONG)),
}
"""Frequencies that depend on how long the text is."""


def _config(kind: str) -> Any:
    return {**CONFIGS, **ROPES, **UNMOVABLE}[kind]()


def _rope(**parameters: Any) -> dict[str, Any]:
    return {"rope_theta": 10_000.0, **parameters}


def tiny_tokenizer(template: str | None = CHATML) -> PreTrainedTokenizerFast:
    """Byte-level tokenizer with three special tokens and a dozen merges."""
    alphabet = sorted(ByteLevel.alphabet())
    merges = [
        ("t", "h"),
        ("th", "e"),
        ("Ġ", "the"),
        ("a", "n"),
        ("i", "n"),
        ("Ġ", "a"),
        ("Ċ", "Ċ"),
        ("e", "r"),
    ]
    merges += [("o", "n"), ("r", "e"), ("Ġ", "w"), ("h", "e"), ("u", "s")]
    tokens = [*_SPECIALS, *alphabet, *("".join(pair) for pair in merges)]
    core = Tokenizer(BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    core.pre_tokenizer = ByteLevel(add_prefix_space=False)
    core.decoder = ByteLevelDecoder()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|im_end|>", bos_token="<|endoftext|>", pad_token="<|endoftext|>"
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = template
    return tokenizer


@functools.cache
def tiny_model(kind: str) -> Any:
    """A random float32 model of `kind`, the same at every call."""
    attention.register()
    torch.manual_seed(7)
    model = AutoModelForCausalLM.from_config(_config(kind), attn_implementation=attention.NAME)
    return model.float().eval().requires_grad_(False)


@functools.cache
def reference_model(kind: str) -> Any:
    """The same weights on transformers' own eager attention: what chatkv is compared with."""
    model = AutoModelForCausalLM.from_config(_config(kind), attn_implementation="eager")
    model.load_state_dict(tiny_model(kind).state_dict())
    return model.float().eval().requires_grad_(False)


@functools.cache
def tiny_loaded(kind: str) -> LoadedModel:
    """The model as the loader hands it over."""
    return loaded_from(tiny_model(kind), tiny_tokenizer(), name=f"tiny-{kind}", device="cpu")


def save_tiny(kind: str, folder: Path, *, endless: bool = False) -> Path:
    """Write the model as a Hugging Face folder, as a person would have it. `endless`: it never ends an answer."""
    weights = {name: tensor.clone() for name, tensor in tiny_model(kind).state_dict().items()}
    if endless:
        weights["lm_head.weight"][[0, 2]] = 0.0
    tiny_model(kind).save_pretrained(folder, state_dict=weights)
    tiny_tokenizer().save_pretrained(folder)
    return folder
