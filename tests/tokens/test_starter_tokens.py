"""The starter model's own tokenizer and template."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starter import starter_folder
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from chatkv.tokens import ChatFormat, Codec, Message
from chatkv.tokens.sample import sample_texts
from tokens.strategies import texts

pytestmark = pytest.mark.slow


@functools.cache
def starter() -> tuple[PreTrainedTokenizerBase, Codec, ChatFormat]:
    tokenizer = AutoTokenizer.from_pretrained(starter_folder())
    codec = Codec.from_tokenizer(tokenizer)
    return tokenizer, codec, ChatFormat(tokenizer, codec, thinking=True)


def test_the_fast_route_is_proved_and_nothing_is_remarked() -> None:
    _, codec, chat = starter()
    assert codec.how == "tiktoken"
    assert chat.notices == ()
    assert chat.end_ids == {codec.special["<|im_end|>"]}
    assert chat.think_tags is None


@settings(max_examples=300, deadline=None)
@given(text=st.one_of(texts, st.text()))
def test_text_gets_the_tokenizer_s_ids_and_never_a_control_token(text: str) -> None:
    tokenizer, codec, _ = starter()
    ids = codec.encode_plain(text)
    assert not set(ids) & set(codec.controls)
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if not any(control in valid for control in codec.special):
        assert ids == tokenizer(valid, add_special_tokens=False)["input_ids"]


def test_other_texts_than_those_of_the_proof_agree_too() -> None:
    tokenizer, codec, _ = starter()
    for text in sample_texts([b"x"], seed=99):
        assert codec.encode_plain(text) == tokenizer(text, add_special_tokens=False)["input_ids"]


def test_digits_are_split_one_by_one() -> None:
    _, codec, _ = starter()
    assert [codec.decode([i]) for i in codec.encode_plain("a  1234")] == ["a", "  ", "1", "2", "3", "4"]


def test_a_conversation_gets_the_ids_of_the_whole_prompt() -> None:
    tokenizer, _, chat = starter()
    words = [("user", "How many? 12 or 13?"), ("assistant", "Both,\n  I think."), ("user", "  Why?\n")]
    plain = [{"role": role, "content": text} for role, text in words]
    messages = [
        Message("user", words[0][1], 1),
        Message("assistant", words[1][1], 1),
        Message("user", words[2][1], 2),
    ]
    whole = tokenizer.apply_chat_template(plain, add_generation_prompt=True, tokenize=False)
    ids = tokenizer(whole, add_special_tokens=False)["input_ids"]
    assert list(chat.render(messages, answer=True).ids) == ids
