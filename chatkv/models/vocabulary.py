"""A GGUF file's byte-level BPE vocabulary → tokenizer.json as transformers reads it.

Knows which pre-tokenizer the named kinds of vocabulary were trained with; refuses the kinds it does not know.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chatkv.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokenizers import Tokenizer
    from tokenizers.pre_tokenizers import PreTokenizer

_CONTROL, _USER_DEFINED = 3, 4
_ROLES = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}


def write_tokenizer(fields: Mapping[str, Any], folder: Path, context_tokens: int) -> None:
    """Write tokenizer.json, tokenizer_config.json and, if there is one, chat_template.jinja into `folder`.

    `fields` are those of a GGUF header. Raises `ModelError` for a vocabulary that is not byte-level BPE of a
    known kind.
    """
    build_tokenizer(fields).save(str(folder / "tokenizer.json"))
    tokens = fields["tokenizer.ggml.tokens"]
    ids = {role: fields.get(f"tokenizer.ggml.{name}_token_id") for role, name in _ROLES.items()}
    config = {f"{role}_token": tokens[n] for role, n in ids.items() if n is not None}
    config |= {
        "tokenizer_class": "TokenizersBackend",
        "model_max_length": context_tokens,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    if template := fields.get("tokenizer.chat_template"):
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8", newline="")


def build_tokenizer(fields: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer that GGUF header `fields` describe, splitting as the model's own does."""
    from tokenizers import AddedToken, Tokenizer, decoders
    from tokenizers.models import BPE

    kind = fields.get("tokenizer.ggml.model")
    if kind != "gpt2":
        raise ModelError(f"A vocabulary of kind {kind!r} is not converted, only 'gpt2' (byte-level BPE).")
    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    merges = [_pair(merge) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(BPE({token: n for n, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = _pre_tokenizer(fields.get("tokenizer.ggml.pre"))
    tokenizer.decoder = decoders.ByteLevel()
    for token, sort in zip(tokens, fields["tokenizer.ggml.token_type"], strict=True):
        if sort in (_CONTROL, _USER_DEFINED):
            tokenizer.add_tokens([AddedToken(token, normalized=False, special=sort == _CONTROL)])
    return tokenizer


def _pre_tokenizer(kind: str | None) -> PreTokenizer:
    from tokenizers import pre_tokenizers

    words = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True)
    if kind == "gpt-2":
        return words
    if kind == "smollm":
        # Trained with each digit apart, also from a space before it; GPT-2's pattern alone would keep them
        # together and give ids that the model never saw in such places.
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), words])
    raise ModelError(f"A vocabulary split in the way {kind!r} is not converted, only 'gpt-2' and 'smollm'.")


def _pair(merge: str) -> tuple[str, str]:
    left, _, right = merge.partition(" ")
    return left, right
