"""What is prefilled while idle is what the next prompt begins with, whatever the next message says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.tokens import ChatFormat, Message
from tokens import zoo
from tokens.strategies import conversations, texts
from tokens.templates import TEMPLATES

STARTS = [
    "a",
    "Z",
    "7",
    " x",
    "\n",
    "\n\nx",
    "!",
    "'s",
    "\u0301",
    "\ufe0f",
    "中",
    "😀",
    "\x00",
    ">",
    "]",
    "\r\n",
    "</s>",
]


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(list(TEMPLATES)),
    kind=st.sampled_from(["gpt2", "llama3", "nfc", "first", "prepend", "gemma", "unigram", "blanks"]),
    data=st.data(),
    text=st.one_of(st.sampled_from(STARTS), texts),
)
def test_every_next_prompt_begins_with_the_stable_prefix(
    name: str, kind: str, data: st.DataObject, text: str
) -> None:
    chat = zoo.kept_chat(name, kind)
    messages = data.draw(conversations(zoo.codec(kind)))
    stable = chat.stable_prefix(messages)
    following = chat.render([*messages, Message("user", text, 9)], answer=True)
    assert following.ids[: len(stable.ids)] == stable.ids


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("thinking", [True, False])
def test_little_but_the_next_message_is_left_to_prefill(name: str, thinking: bool) -> None:
    chat, codec = zoo.kept_chat(name, "gpt2", thinking), zoo.codec("gpt2")
    messages = [Message("system", "Be brief."), *turn(chat, 1, "long " * 200)]
    for n in range(2, 7):
        ledger = chat.stable_prefix(messages).ids
        question = f"Question {n}?"
        prompt = chat.render([*messages, Message("user", question, n)], answer=True).ids
        assert prompt[: len(ledger)] == ledger
        assert len(prompt) - len(ledger) <= codec.count(question) + 40
        messages += turn(chat, n, question)


def turn(chat: ChatFormat, n: int, question: str) -> list[Message]:
    """A question and an answer as a thinking model gives it."""
    codec = zoo.codec("gpt2")
    tags = codec.special["<think>"], codec.special["</think>"]
    head = [] if chat.opens_thought else [tags[0]]
    thought = [*head, *codec.encode_plain("\nTwo and two. "), tags[1], *codec.encode_plain("\n\n")]
    ids = (*thought, *codec.encode_plain(f"Answer {n}."))
    return [Message("user", question, n), Message("assistant", f"Answer {n}.", n, ids, len(thought))]


def shown(chat: ChatFormat, messages: list[Message], *, answer: bool = False) -> str:
    return zoo.codec("gpt2").decode_bytes(chat.render(messages, answer=answer).ids).decode()


def test_thoughts_are_kept_while_newest_and_dropped_where_the_template_drops_them() -> None:
    chat = zoo.kept_chat("qwen3")
    messages = turn(chat, 1, "Q")
    newest = shown(chat, messages)
    assert newest.endswith("assistant\n<think>\nTwo and two. </think>\n\nAnswer 1.<|im_end|>\n")
    older = shown(chat, [*messages, Message("user", "R", 2)])
    assert "<|im_start|>assistant\nAnswer 1.<|im_end|>" in older
    assert "think" not in older


def test_a_thought_in_channels_is_told_from_the_answer_and_dropped_when_older() -> None:
    chat, codec = zoo.kept_chat("harmony"), zoo.codec("gpt2")
    thought = codec.encode_glue(
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"
    )
    ids = (*thought, *codec.encode_plain("Yes."))
    stream = chat.stream()
    pieces = [piece for i in ids for piece in stream.feed(i)] + stream.finish()
    assert "".join(text for kind, text in pieces if kind == "thought") == "Hm."
    assert "".join(text for kind, text in pieces if kind == "answer") == "Yes."
    assert stream.answer_start == len(thought)
    messages = [Message("user", "Q", 1), Message("assistant", "Yes.", 1, ids, len(thought))]
    prompt = chat.render(messages[:1], answer=True).ids
    assert chat.render(messages, answer=False).ids[: len(prompt) + len(ids)] == prompt + ids
    older = shown(chat, [*messages, Message("user", "R", 2)])
    assert "assistant<|channel|>final<|message|>Yes.<|end|>" in older
    assert "analysis" not in older


def test_a_template_that_prints_answers_as_they_are_gets_no_thoughts() -> None:
    chat = zoo.kept_chat("echoes")
    assert "think" not in shown(chat, [*turn(chat, 1, "Q"), Message("user", "R", 2)])


@pytest.mark.parametrize("writes_tag", [True, False])
def test_a_tag_that_opens_answers_stands_once_whoever_writes_it(writes_tag: bool) -> None:
    chat, codec = zoo.kept_chat("opens-answers"), zoo.codec("gpt2")
    ids = tuple([codec.special["<|User|>"]] * writes_tag + codec.encode_plain("Yes."))
    text = shown(chat, [Message("user", "Q", 1), Message("assistant", "Yes.", 1, ids)])
    assert text.endswith("<|im_start|>assistant\n<|User|>Yes.<|im_end|>\n")


@pytest.mark.parametrize("name", ["keeps-inline", "opens-and-keeps"])
def test_thoughts_that_a_template_keeps_are_the_sampled_ids(name: str) -> None:
    chat = zoo.kept_chat(name)
    first = chat.render([Message("user", "Q", 1)], answer=True).ids
    messages = turn(chat, 1, "Q")
    later = chat.render([*messages, Message("user", "R", 2)], answer=True).ids
    assert later[: len(first) + len(messages[1].ids)] == first + messages[1].ids
    text = shown(chat, [*messages, Message("user", "R", 2)])
    assert text.count("<think>") == text.count("</think>") == 1


def test_a_thought_opened_by_the_prompt_is_known() -> None:
    assert zoo.kept_chat("r1").opens_thought
    assert not zoo.kept_chat("qwen3").opens_thought
    assert not zoo.kept_chat("qwen3", "gpt2", False).opens_thought
    assert zoo.kept_chat("qwen3").think_tags == ("<think>", "</think>")


def test_before_the_first_message_the_stable_prefix_holds_the_system_prompt() -> None:
    codec = zoo.codec("gpt2")
    for name in ("chatml", "llama3", "phi3", "zephyr"):
        stable = zoo.kept_chat(name).stable_prefix([Message("system", "Be brief.")])
        assert b"Be brief." in codec.decode_bytes(stable.ids), name
    assert b"You help." in codec.decode_bytes(zoo.kept_chat("chatml-default").stable_prefix([]).ids)


def test_editing_the_last_question_leaves_older_turns_as_they_were() -> None:
    for name in TEMPLATES:
        chat = zoo.kept_chat(name)
        older = [*turn(chat, 1, "One"), *turn(chat, 2, "Two")]
        stable = chat.stable_prefix(older).ids
        for text in ("Three", "three?", "\n"):
            prompt = chat.render([*older, Message("user", text, 3)], answer=True).ids
            assert prompt[: len(stable)] == stable
