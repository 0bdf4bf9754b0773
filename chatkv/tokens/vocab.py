"""What every token id stands for: its bytes, and whether it is a control token.

Reads the tokenizer's own tables once. Knows nothing of encoding or of templates.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer, models

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SPACE_MARK = "▁"
_MARKED_STEPS = {"Replace", "ByteFallback", "Fuse", "Strip", "Metaspace"}
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True, slots=True)
class Control:
    """An added token that only a template or the model may write.

    `hidden`: it has no text in an answer; `lstrip`, `rstrip`: it eats the spaces before, after it.
    """

    id: int
    text: str
    hidden: bool
    lstrip: bool
    rstrip: bool


@dataclass(frozen=True, slots=True)
class Vocab:
    """Tables by token id. `exact` is False where a token's bytes depend on its neighbours."""

    bytes_of: Mapping[int, bytes]
    controls: Mapping[str, Control]
    drops_first_space: bool
    exact: bool


def read_vocab(backend: Tokenizer) -> Vocab:
    """The tables of `backend`."""
    steps = list(flat(parts_json(backend)["decoder"]))
    kinds = {step["type"] for step in steps}
    added = backend.get_added_tokens_decoder()
    words = backend.get_vocab(with_added_tokens=True)
    spell = _byte_level if "ByteLevel" in kinds else _marked
    table = {i: spell(word) for word, i in words.items()}
    table.update({i: token.content.encode() for i, token in added.items()})
    return Vocab(
        bytes_of=table,
        controls={
            token.content: Control(i, token.content, token.special, token.lstrip, token.rstrip)
            for i, token in added.items()
            if not _is_blank(token.content, special=token.special)
        },
        drops_first_space=any(_drops_first_space(step) for step in steps),
        exact="ByteLevel" in kinds or (bool(kinds) and kinds <= _MARKED_STEPS),
    )


def parts_json(backend: Tokenizer) -> dict[str, Any]:
    """The JSON of a tokenizer's normalizer, pre-tokenizer and decoder, without the cost of its vocabulary."""
    shell = Tokenizer(models.BPE())
    copy_parts(backend, shell)
    parsed: dict[str, Any] = json.loads(shell.to_str())
    return parsed


def copy_parts(source: Tokenizer, target: Tokenizer) -> None:
    """Give `target` the normalizer, pre-tokenizer and decoder of `source`."""
    for name in ("normalizer", "pre_tokenizer", "decoder"):
        part = getattr(source, name)
        if part is not None:
            setattr(target, name, part)


def flat(step: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """The steps of a normalizer, pre-tokenizer or decoder, with nested sequences opened."""
    if step is None:
        return
    if step["type"] != "Sequence":
        yield step
        return
    for name in ("normalizers", "pretokenizers", "decoders"):
        for inner in step.get(name, ()):
            yield from flat(inner)


@functools.cache
def _byte_letters() -> dict[int, str]:
    """Letter of a byte-level vocabulary → its byte, as latin-1: GPT-2's printable alphabet undone."""
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = sorted(set(range(256)) - set(printable))
    return {256 + n: chr(byte) for n, byte in enumerate(others)}


def _byte_level(word: str) -> bytes:
    try:
        return word.translate(_byte_letters()).encode("latin-1")
    except UnicodeEncodeError:
        return word.encode()


def _marked(word: str) -> bytes:
    found = _BYTE_TOKEN.fullmatch(word)
    return bytes([int(found[1], 16)]) if found else word.replace(SPACE_MARK, " ").encode()


def _is_blank(text: str, *, special: bool) -> bool:
    # Some vocabularies list runs of spaces as added tokens: they are text, and a person may well type them.
    return not special and not text.replace(SPACE_MARK, " ").strip()


def _drops_first_space(step: dict[str, Any]) -> bool:
    if step["type"] == "Metaspace":
        return bool(step.get("prepend_scheme", "always") != "never")
    return bool(step["type"] == "Strip" and step["content"] == " " and step["start"] >= 1)
