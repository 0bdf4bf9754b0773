"""Whether a folder or GGUF file is a whole, loadable model. Reads JSON and headers, never weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from chatkv.errors import ModelError
from chatkv.models.gguf_file import read_gguf
from chatkv.models.tensor_file import read_header

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tekken.json",
)
_PICKLED = ("*.bin", "*.pt", "*.pth")


def check_folder(folder: Path, *, trust_remote_code: bool = False) -> None:
    """Raise `ModelError`, naming the file, unless `folder` has configuration, tokenizer and whole weights."""
    if not (folder / "config.json").is_file():
        raise _not_a_model(folder)
    config = read_json(folder / "config.json")
    for weights in weight_files(folder):
        read_header(weights)
    if (folder / INDEX).is_file():
        _check_index(folder)
    if not any((folder / name).is_file() for name in _TOKENIZERS) and not list(folder.glob("*.tiktoken")):
        raise ModelError(
            f"`{folder}` has no tokenizer.", "Put the model's tokenizer.json beside its weights."
        )
    if trust_remote_code:
        _check_code(folder, config)


def check_gguf(path: Path) -> None:
    """Raise `ModelError` unless `path` is one whole GGUF file that stands alone."""
    n_parts = read_gguf(path).fields.get("split.count", 1)
    if n_parts > 1:
        raise ModelError(
            f"`{path}` is one of {n_parts} parts of a model.",
            "Merge them with `llama-gguf-split --merge` and name the merged file.",
        )


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files that make up the model's weights. Raises `ModelError` if one is missing."""
    if not (folder / INDEX).is_file():
        if (folder / SINGLE).is_file():
            return [folder / SINGLE]
        raise _no_weights(folder)
    shards = shard_names(folder / INDEX)
    missing = [name for name in shards if not (folder / name).is_file()]
    if missing:
        raise ModelError(
            f"`{folder}` lacks {len(missing)} of {len(shards)} weight files: {', '.join(missing[:3])}"
            f"{' …' if len(missing) > 3 else ''}.",
            "The download was cut short: fetch the model again.",
        )
    return [folder / name for name in shards]


def shard_names(index: Path) -> list[str]:
    """Names of the files that an index refers to. Raises `ModelError` if one would lie outside its folder."""
    names = sorted(set(_weight_map(index).values()))
    for name in names:
        if Path(name).name != name:
            raise ModelError(
                f"`{index}` refers to `{name}`, outside its own folder.", "Do not use this model."
            )
    return names


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in `path`. Raises `ModelError` that names the file and the place of a mistake."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"`{path}` cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise ModelError(f"`{path}` is not valid JSON: {error}.", "Fetch the model again.") from error
    if not isinstance(table, dict):
        raise ModelError(f"`{path}` is not a JSON object.", "Fetch the model again.")
    return table


def _weight_map(index: Path) -> dict[str, str]:
    table = read_json(index).get("weight_map")
    if not isinstance(table, dict) or not table or not all(isinstance(name, str) for name in table.values()):
        raise ModelError(f"`{index}` has no usable `weight_map`.", "Fetch the model again.")
    return table


def _check_index(folder: Path) -> None:
    # transformers fills a tensor that its shard lacks with random numbers and only warns.
    weight_map = _weight_map(folder / INDEX)
    there = {name: read_header(folder / name).keys() for name in set(weight_map.values())}
    for tensor, shard in weight_map.items():
        if tensor not in there[shard]:
            raise ModelError(
                f"`{folder / shard}` lacks the tensor `{tensor}` that the index places in it.",
                "Files of two versions are mixed: fetch the model again.",
            )


def _check_code(folder: Path, config: dict[str, Any]) -> None:
    references = config.get("auto_map") or {}
    for value in references.values():
        module = str(value).rpartition(".")[0]
        if "--" not in module and not (folder / f"{module}.py").is_file():
            raise ModelError(
                f"`{folder}` lacks `{module}.py`, the code of this model.", "Fetch the model again."
            )


def _not_a_model(folder: Path) -> ModelError:
    ggufs = sorted(path.name for path in folder.glob("*.gguf"))
    if ggufs:
        return ModelError(f"`{folder}` holds GGUF files.", f"Name the file itself: `{folder / ggufs[0]}`.")
    if (folder / "adapter_config.json").is_file():
        return ModelError(
            f"`{folder}` holds an adapter (LoRA), not a whole model.",
            "Merge it into its base model and name that folder.",
        )
    return ModelError(
        f"`{folder}` is not a model folder: it has no config.json.",
        "Name the folder that holds config.json, the tokenizer and *.safetensors.",
    )


def _no_weights(folder: Path) -> ModelError:
    if any(path for pattern in _PICKLED for path in folder.glob(pattern)):
        return pickled(f"`{folder}`")
    return ModelError(
        f"`{folder}` has no weights: neither {SINGLE} nor {INDEX} is there.",
        "Fetch the model again, or name the folder that holds them.",
    )


def pickled(where: str) -> ModelError:
    """The refusal of weights whose loading can run any program."""
    return ModelError(
        f"{where} has its weights only in pickled files (*.bin, *.pt); loading those can run any program.",
        "Choose a model with *.safetensors, or convert these on a machine where that is safe.",
    )
