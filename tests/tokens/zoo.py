"""Small tokenizers of every kind that chat models use, trained here on a paragraph."""

from __future__ import annotations

import functools
import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from chatkv.tokens import ChatFormat, Codec
from tokens.templates import TEMPLATES

PROSE = (
    """
The keeper of the light wrote every evening: wind from the west, 14 knots, two ships seen, nothing else to
tell. On some days there was more: a whale (12 m long!), a letter, 3,5 kg of flour for €7.20, a song.
def row(x): return [x + 1 for x in range(10)] # not part of the log; {"a": null}. What's that? It's “fog”.
x   7 8\n\n\n   9\n  user assistant system model User: Assistant: Größe naïve 你好，世界。こんにちは привет мир 😀
"""
    * 4
)
SPECIAL = [
    "<unk>",
    "<s>",
    "</s>",
    "<|im_start|>",
    "<|im_end|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<|User|>",
    "<|Assistant|>",
    "<|start_of_role|>",
    "<|end_of_role|>",
    "<|start|>",
    "<|channel|>",
    "<|message|>",
    "<|return|>",
]
SPACE_EATERS = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
PLAIN_ADDED = ["<think>", "</think>", "<tool_call>"]
LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)

BYTE_LEVEL = ("gpt2", "digits", "llama3", "nfc")
MARKED = ("first", "prepend", "always", "gemma", "unigram")
OTHERS = ("blanks", "prefix-space", "wordpiece")
KINDS = (*BYTE_LEVEL, *MARKED, *OTHERS)


@functools.cache
def backend(kind: str) -> Tokenizer:
    """A trained tokenizer with all control tokens of the zoo."""
    made = _byte_level(kind) if kind in (*BYTE_LEVEL, "blanks", "prefix-space") else _marked(kind)
    made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    made.add_special_tokens(
        [AddedToken(text, special=True, normalized=False, rstrip=True) for text in SPACE_EATERS]
    )
    made.add_tokens([AddedToken(text, special=False, normalized=False) for text in PLAIN_ADDED])
    if kind == "blanks":
        made.add_tokens([AddedToken(" " * n, special=False, normalized=True) for n in range(12, 1, -1)])
    return made


@functools.cache
def codec(kind: str) -> Codec:
    return Codec.from_tokenizer(tokenizer(kind, None))


def tokenizer(kind: str, template: str | None) -> PreTrainedTokenizerFast:
    loaded: PreTrainedTokenizerFast = PreTrainedTokenizerFast(
        tokenizer_object=backend(kind), bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    loaded.chat_template = template
    return loaded


def chat(template: str, kind: str = "gpt2", *, thinking: bool = True) -> ChatFormat:
    """The format of the template with this name. Nothing is shared but the codec."""
    return ChatFormat(tokenizer(kind, TEMPLATES[template]), codec(kind), thinking=thinking)


@functools.cache
def kept_chat(template: str, kind: str = "gpt2", thinking: bool = True) -> ChatFormat:
    """Like `chat`, one for the whole test run."""
    return chat(template, kind, thinking=thinking)


def _byte_level(kind: str) -> Tokenizer:
    made = Tokenizer(models.BPE())
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=kind == "prefix-space")
    rest = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = gpt2
    if kind == "digits":
        made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), gpt2])
    if kind in ("llama3", "nfc"):
        split = pre_tokenizers.Split(Regex(LLAMA3_SPLIT), behavior="isolated")
        made.pre_tokenizer = pre_tokenizers.Sequence([split, rest])
    if kind == "nfc":
        made.normalizer = normalizers.NFC()
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    made.train_from_iterator([PROSE], trainer)
    return made


def _marked(kind: str) -> Tokenizer:
    if kind == "wordpiece":
        return _wordpiece()
    if kind == "unigram":
        return _unigram()
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    strip = [decoders.Strip(" ", 1, 0)] if kind != "gemma" else []
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip]
    )
    if kind in ("first", "always"):
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=kind, split=False)
    if kind == "prepend":
        made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    if kind == "gemma":
        made.normalizer = normalizers.Replace(" ", "▁")
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<unk>", *byte_tokens], show_progress=False, max_token_length=8
    )
    made.train_from_iterator(PROSE.split("\n"), trainer)
    # The trainer lists the byte tokens as added ones, which real tokenizers of this kind do not.
    return _without_added(made)


def _unigram() -> Tokenizer:
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = decoders.Metaspace(prepend_scheme="first")
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(PROSE.split("\n"), trainer)
    return made


def _wordpiece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.decoder = decoders.WordPiece(cleanup=False)
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=["<unk>"], show_progress=False)
    made.train_from_iterator(PROSE.split("\n"), trainer)
    return made


def _without_added(made: Tokenizer) -> Tokenizer:
    clean = Tokenizer(made.model)
    clean.decoder = made.decoder
    if made.normalizer is not None:
        clean.normalizer = made.normalizer
    if made.pre_tokenizer is not None:
        clean.pre_tokenizer = made.pre_tokenizer
    return clean


def without_byte(kind: str, byte: int) -> Tokenizer:
    """The tokenizer without the letter of `byte`, as some published vocabularies are."""
    data = json.loads(backend(kind).to_str())
    letter = chr(256 + byte)
    data["model"]["vocab"] = {word: i for word, i in data["model"]["vocab"].items() if word != letter}
    data["added_tokens"] = []
    return Tokenizer.from_str(json.dumps(data))


def with_shuffled_merges(kind: str) -> Tokenizer:
    """Same words, other order of merges: ids alone no longer tell which merge comes first."""
    data = json.loads(backend(kind).to_str())
    data["model"]["merges"].reverse()
    return Tokenizer.from_str(json.dumps(data))
