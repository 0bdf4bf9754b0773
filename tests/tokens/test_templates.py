"""Templates that fail, print the date, or do not exist; and long conversations."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from chatkv.errors import ModelError
from chatkv.tokens import ChatFormat, Message
from tokens import zoo
from tokens.templates import LLAMA3, TEMPLATES


def user(text: str, turn: int = 1) -> Message:
    return Message("user", text, turn)


def answered(text: str, turn: int = 1) -> Message:
    return Message("assistant", text, turn, tuple(zoo.codec("gpt2").encode_plain(text)))


def test_without_a_template_a_plain_format_with_a_stop_string_is_used() -> None:
    chat, codec = zoo.chat("none"), zoo.codec("gpt2")
    messages = [Message("system", "Sys"), user("Hi"), answered(" Yo"), user("And?", 2)]
    text = codec.decode_bytes(chat.render(messages, answer=True).ids).decode()
    assert text == "Sys\n\nUser: Hi\nAssistant: Yo\nUser: And?\nAssistant:"
    assert chat.stop_strings == ("\nUser:",)
    assert any("no chat template" in notice for notice in chat.notices)
    stream = chat.stream()
    pieces = [piece for i in codec.encode_plain(" Yo\nUser: more") for piece in stream.feed(i)]
    assert "".join(text for _, text in pieces) == " Yo"
    assert stream.stopped


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("{{ raise_exception('only tools here') }}", "only tools here"),
        ("{{ messages[0].nothing.more }}", "nothing"),
        ("{% if %}", "Expected an expression"),
        ("hello", "does not print"),
        ("{{ 1 / 0 }}", "division by zero"),
    ],
)
def test_a_template_that_cannot_work_is_a_model_error_that_quotes_it(source: str, complaint: str) -> None:
    with pytest.raises(ModelError, match=complaint) as caught:
        ChatFormat(zoo.tokenizer("gpt2", source), zoo.codec("gpt2"), thinking=True)
    assert caught.value.hint


def test_a_template_that_fails_later_is_a_model_error_too() -> None:
    source = "{% if messages | length > 3 %}{{ raise_exception('too long for me') }}{% endif %}" + LLAMA3
    chat = ChatFormat(zoo.tokenizer("gpt2", source), zoo.codec("gpt2"), thinking=True)
    messages = [user("a"), answered("b"), user("c", 2), answered("d", 2)]
    with pytest.raises(ModelError, match="too long for me"):
        chat.render([*messages, user("e", 3)], answer=True)


def test_a_template_s_date_stays_what_it_was_when_the_format_was_made() -> None:
    codec = zoo.codec("gpt2")
    then = datetime(2020, 2, 3, 4, 5, 6, 7)
    chat = ChatFormat(zoo.tokenizer("gpt2", TEMPLATES["dated"]), codec, thinking=True, today=then)
    text = codec.decode_bytes(chat.render([user("Hi")], answer=True).ids).decode()
    assert text.startswith("<s>Today is 03 February 2020, 04:05:06.000007.\n<|im_start|>user")
    now = zoo.chat("dated")
    assert now.render([user("Hi")], answer=True) == now.render([user("Hi")], answer=True)


def test_the_time_to_render_grows_as_the_conversation_does() -> None:
    """Compared within one moment, since machines differ: four times the turns, not sixteen times the time."""
    chat, reply = zoo.chat("qwen3"), answered("An answer of some length. " * 8)
    messages = []
    for turn in range(1, 1001):
        messages += [user(f"Question {turn}", turn), Message("assistant", reply.text, turn, reply.ids)]

    def seconds(n_turns: int) -> float:
        began = time.process_time()
        chat.render([*messages[: 2 * n_turns], user("And now?", n_turns + 1)], answer=True)
        return time.process_time() - began

    seconds(1000)  # what is cached afterwards is not measured
    short, long = (min(seconds(n_turns) for _ in range(5)) for n_turns in (250, 1000))
    assert long < 10 * short
