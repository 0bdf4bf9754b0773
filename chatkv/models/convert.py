"""A GGUF file of the Llama architecture → a Hugging Face folder with bfloat16 weights.

Knows GGUF's names, its order of query and key rows, and its byte-level vocabulary; refuses every other
architecture and tokenizer by name. No torch: numpy is enough.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from chatkv.errors import ModelError
from chatkv.models.gguf_file import GgufFile, GgufTensor, read_gguf
from chatkv.models.progress import Meter, OnProgress
from chatkv.models.tensor_file import write_bfloat16
from chatkv.models.vocabulary import write_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy

_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def convert_gguf(source: Path, target: Path, on_progress: OnProgress) -> None:
    """Write config.json, model.safetensors, tokenizer and chat template of `source` into folder `target`.

    Raises `ModelError` if `source` is damaged or not of the kind this can convert.
    """
    header = read_gguf(source)
    architecture = header.fields.get("general.architecture")
    if architecture != "llama":
        raise ModelError(f"`{source}` has the architecture {architecture!r}; only 'llama' is converted.")
    config = llama_config(header)
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    write_tokenizer(header.fields, target, config["max_position_embeddings"])
    _write_weights(header, config, target / "model.safetensors", on_progress)


def llama_config(header: GgufFile) -> dict[str, Any]:
    """The transformers configuration (`LlamaConfig`) that the fields of a GGUF file describe."""
    fields = header.fields
    shapes = {tensor.name: tensor.shape for tensor in header.tensors}
    try:
        heads = int(fields["llama.attention.head_count"])
        hidden = int(fields["llama.embedding_length"])
        head_dim = int(fields.get("llama.attention.key_length", hidden // heads))
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "dtype": "bfloat16",
            "hidden_act": "silu",
            "hidden_size": hidden,
            "intermediate_size": int(fields["llama.feed_forward_length"]),
            "num_hidden_layers": int(fields["llama.block_count"]),
            "num_attention_heads": heads,
            "num_key_value_heads": int(fields.get("llama.attention.head_count_kv", heads)),
            "head_dim": head_dim,
            "max_position_embeddings": int(fields["llama.context_length"]),
            "rms_norm_eps": float(fields["llama.attention.layer_norm_rms_epsilon"]),
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": float(fields.get("llama.rope.freq_base", 10_000.0)),
            },
            "attention_bias": False,
            "mlp_bias": False,
            "tie_word_embeddings": "output.weight" not in shapes,
            "vocab_size": shapes["token_embd.weight"][0],
            "bos_token_id": fields.get("tokenizer.ggml.bos_token_id"),
            "eos_token_id": fields.get("tokenizer.ggml.eos_token_id"),
            "pad_token_id": fields.get("tokenizer.ggml.padding_token_id"),
        }
    except KeyError as error:
        raise ModelError(f"`{header.path}` lacks {error}.", "Is it a whole language model?") from error


def _write_weights(header: GgufFile, config: dict[str, Any], target: Path, on_progress: OnProgress) -> None:
    sources = {_target_name(tensor.name): tensor for tensor in header.tensors}
    _check_names(header.path, sources, config)
    meter = Meter(on_progress, "converting", len(sources), "tensors")
    shapes = {name: tensor.shape for name, tensor in sources.items()}
    write_bfloat16(target, shapes, _reader(header.path, sources, config), meter.reach)


def _reader(
    path: Path, sources: dict[str, GgufTensor], config: dict[str, Any]
) -> Callable[[str], numpy.ndarray[Any, Any]]:
    import numpy as np
    from gguf import GGMLQuantizationType, dequantize
    from gguf.quants import quant_shape_to_byte_shape

    data = np.memmap(path, mode="r", dtype=np.uint8)
    rows = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}

    def read(name: str) -> numpy.ndarray[Any, Any]:
        tensor = sources[name]
        kind = GGMLQuantizationType(tensor.kind)
        shape = quant_shape_to_byte_shape(tensor.shape, kind)
        raw = data[tensor.offset : tensor.offset + int(np.prod(shape))].reshape(shape)
        values = dequantize(raw, kind).astype(np.float32, copy=False).reshape(tensor.shape)
        n_heads = rows.get(name.split(".")[-2])
        return values if n_heads is None else _half_split(values, n_heads)

    return read


def _half_split(values: numpy.ndarray[Any, Any], n_heads: int) -> numpy.ndarray[Any, Any]:
    # values [heads * head_dim, hidden]: GGUF keeps the two rows that RoPE rotates together side by side,
    # transformers half a head apart.
    pairs = values.reshape(n_heads, -1, 2, values.shape[-1])
    return pairs.swapaxes(1, 2).reshape(values.shape)


def _target_name(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    layer = re.fullmatch(r"blk\.(\d+)\.(\w+)", stem)
    if layer and layer[2] in _LAYER:
        return f"model.layers.{layer[1]}.{_LAYER[layer[2]]}.{kind}"
    return f"{_OUTER.get(stem, stem)}.{kind}"


def _check_names(path: Path, sources: dict[str, GgufTensor], config: dict[str, Any]) -> None:
    layers = range(config["num_hidden_layers"])
    expected = {f"model.layers.{n}.{part}.weight" for n in layers for part in _LAYER.values()}
    expected |= {"model.embed_tokens.weight", "model.norm.weight"}
    if not config["tie_word_embeddings"]:
        expected.add("lm_head.weight")
    if odd := sorted(expected ^ sources.keys()):
        raise ModelError(f"`{path}` is no plain Llama model: `{odd[0]}` is missing or not known to it.")
