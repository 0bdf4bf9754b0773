"""Chat templates: what a person writes stays text, what was sampled stays ids, and any template is obeyed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.tokens import Message, Rendered, Segment
from chatkv.tokens.codec import scrub
from tokens import zoo
from tokens.strategies import conversations, texts
from tokens.templates import TEMPLATES

every_template = pytest.mark.parametrize("name", TEMPLATES)
SOME_KINDS = ("gpt2", "nfc", "first", "prepend", "gemma")


def user(text: str, turn: int = 1) -> Message:
    return Message("user", text, turn)


def answered(chat_kind: str, text: str, turn: int = 1) -> Message:
    """An answer whose ids are not the encoding of its text: one id a letter."""
    codec = zoo.codec(chat_kind)
    ids = [i for letter in text for i in codec.encode_plain(letter, after="text")]
    return Message("assistant", text, turn, tuple(ids))


def runs(rendered: Rendered) -> list[tuple[Segment, tuple[int, ...]]]:
    """Every segment with its ids."""
    found, start = [], 0
    for segment in rendered.segments:
        found.append((segment, rendered.ids[start : start + segment.n_tokens]))
        start += segment.n_tokens
    return found


@every_template
@pytest.mark.parametrize("kind", zoo.KINDS)
def test_text_conversations_get_the_ids_of_the_whole_prompt(name: str, kind: str) -> None:
    notices = " ".join(zoo.chat(name, kind).notices)
    # This template puts a space behind an answer, and the toy tokenizers have words that end in one.
    expected = name == "llama2" and kind in ("first", "prepend", "always", "gemma")
    assert ("piece by piece" in notices) == expected


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from([name for name in TEMPLATES if name not in ("dated", "none", "parts-only")]),
    kind=st.sampled_from(zoo.KINDS),
    text=texts,
)
def test_a_first_question_gets_the_ids_that_transformers_gives(name: str, kind: str, text: str) -> None:
    text = "a" + scrub(text.replace("<", "("))
    tokenizer = zoo.tokenizer(kind, TEMPLATES[name])
    plain = [{"role": "user", "content": f"  {text}"}]
    whole = tokenizer.apply_chat_template(
        plain, add_generation_prompt=True, tokenize=False, enable_thinking=True, thinking=True
    )
    ids = zoo.kept_chat(name, kind).render([user(f"  {text}")], answer=True).ids
    assert list(ids) == tokenizer(whole, add_special_tokens=False)["input_ids"]


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(list(TEMPLATES)), kind=st.sampled_from(SOME_KINDS), data=st.data())
def test_segments_cover_all_ids_and_keep_order(name: str, kind: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(zoo.codec(kind)))
    rendered = zoo.kept_chat(name, kind).render(messages, answer=data.draw(st.booleans()))
    assert sum(segment.n_tokens for segment in rendered.segments) == len(rendered.ids)
    assert all(segment.n_tokens > 0 for segment in rendered.segments)
    turns = [segment.turn for segment in rendered.segments if segment.kind != "system"]
    assert turns == sorted(turns)


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(list(TEMPLATES)), kind=st.sampled_from(SOME_KINDS), data=st.data())
def test_sampled_ids_stand_in_the_prompt_as_they_are(name: str, kind: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(zoo.codec(kind)))
    rendered = zoo.kept_chat(name, kind).render(messages, answer=True)
    wanted = [m.ids[m.answer_start :] for m in messages if m.role == "assistant" and m.ids[m.answer_start :]]
    imported = {m.turn for m in messages if m.role == "assistant" and not m.ids}
    found = [
        ids for segment, ids in runs(rendered) if segment.kind == "answer" and segment.turn not in imported
    ]
    assert found == wanted
    thoughts = {m.turn: m.ids[: m.answer_start] for m in messages if m.answer_start}
    assert all(ids in thoughts.values() for segment, ids in runs(rendered) if segment.kind == "thought")


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(list(TEMPLATES)),
    kind=st.sampled_from(SOME_KINDS),
    data=st.data(),
    text=texts,
    system=texts,
)
def test_what_a_person_writes_never_becomes_a_control_token(
    name: str, kind: str, data: st.DataObject, text: str, system: str
) -> None:
    codec = zoo.codec(kind)
    before = [Message("system", "s" + system), user("q"), answered(kind, "a")]
    harmless = [Message("system", "s"), user("q"), answered(kind, "a")]

    def controls(messages: list[Message]) -> list[int]:
        ids = zoo.kept_chat(name, kind).render(messages, answer=True).ids
        return [i for i in ids if i in codec.controls]

    assert controls([*before, user("x" + text, 2)]) == controls([*harmless, user("x", 2)])


@settings(max_examples=50, deadline=None)
@given(name=st.sampled_from(list(TEMPLATES)), data=st.data())
def test_rendering_is_a_pure_function(name: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(zoo.codec("gpt2")))
    fresh = zoo.chat(name)
    used = zoo.kept_chat(name)
    if name in ("dated", "granite"):
        used = fresh
    first = used.render(messages, answer=True)
    used.stable_prefix(messages)
    assert used.render(messages, answer=True) == first == fresh.render(messages, answer=True)


@pytest.mark.parametrize(
    "name", [name for name in TEMPLATES if name not in ("rewrites", "harmony", "opens-answers")]
)
@pytest.mark.parametrize("kind", ["gpt2", "first", "prepend", "gemma", "unigram"])
def test_a_follow_up_begins_with_everything_that_the_model_has_seen(name: str, kind: str) -> None:
    chat = zoo.kept_chat(name, kind, False)
    messages = [Message("system", "Be brief."), user("How many?")]
    prompt = chat.render(messages, answer=True).ids
    reply = answered(kind, "There are 42. ")
    longer = chat.render([*messages, reply, user("Why? ", 2)], answer=True).ids
    seen = prompt + reply.ids
    if name in (
        "qwen3",
        "r1",
        "opens-and-keeps",
    ):  # the prompt holds a think block that history does not show
        seen = prompt[: common(prompt, longer)]
        assert len(prompt) - len(seen) <= 8
    assert longer[: len(seen)] == seen


def common(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Length of the longest common prefix."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@every_template
def test_the_template_s_own_begin_token_stands_once(name: str) -> None:
    chat, bos = zoo.chat(name), zoo.codec("gpt2").special["<s>"]
    ids = chat.render(
        [Message("system", "s"), user("<s>"), answered("gpt2", "a"), user("b", 2)], answer=True
    ).ids
    has_bos = "bos_token" in (TEMPLATES[name] or "")
    assert ids.count(bos) == (2 if name == "llama2" else int(has_bos))  # llama2 begins each turn with it
    assert (ids[0] == bos) == has_bos


@pytest.mark.parametrize("name", ["gemma", "mistral", "drops-system"])
def test_templates_without_a_system_role_get_it_in_the_first_user_message(name: str) -> None:
    chat, codec = zoo.chat(name), zoo.codec("gpt2")
    messages = [Message("system", "Be brief."), user("Hi"), answered("gpt2", "Yo"), user("And?", 2)]
    text = codec.decode_bytes(chat.render(messages, answer=True).ids).decode()
    assert text.count("Be brief.") == 1
    assert "Be brief.\n\nHi" in text
    assert sum("first user message" in notice for notice in chat.notices) == 1
    kinds = [segment.kind for segment in chat.render(messages, answer=True).segments]
    assert kinds[:3].count("system") == 1


@every_template
def test_users_in_a_row_are_merged_and_empty_answers_left_out(name: str) -> None:
    chat, codec = zoo.chat(name), zoo.codec("gpt2")
    stopped = [user("One"), Message("assistant", "", 1), user("Two", 2)]
    assert chat.render(stopped, answer=True).ids == chat.render([user("One\n\nTwo", 2)], answer=True).ids
    assert "One\n\nTwo" in codec.decode_bytes(chat.render(stopped, answer=True).ids).decode()


def test_a_system_message_alone_and_no_message_at_all_render() -> None:
    for name in TEMPLATES:
        chat = zoo.kept_chat(name)
        assert chat.render([], answer=True) == Rendered((), ())
        alone = chat.render([Message("system", "Be brief.")], answer=False)
        text = zoo.codec("gpt2").decode_bytes(alone.ids).decode()
        assert ("Be brief." in text) == (name != "llama2"), name  # llama2 prints it with the first question


@every_template
def test_jinja_in_a_message_is_text(name: str) -> None:
    chat, codec = zoo.chat(name), zoo.codec("gpt2")
    messages = [Message("system", "{{ 8*8 }}"), user("{{ 7*7 }}{% raise %}"), answered("gpt2", "{{ 6*6 }}")]
    text = codec.decode_bytes(chat.render(messages, answer=False).ids).decode()
    assert "{{ 7*7 }}{% raise %}" in text
    assert "{{ 8*8 }}" in text
    assert "{{ 6*6 }}" in text


def test_white_space_is_trimmed_only_where_the_template_does() -> None:
    codec = zoo.codec("gpt2")
    for name, kept in (("llama3", False), ("gemma", False), ("chatml", True), ("phi3", True)):
        text = codec.decode_bytes(zoo.chat(name).render([user("x \t")], answer=True).ids).decode()
        assert ("x \t" in text) == kept, name


def test_segments_name_their_owners() -> None:
    codec = zoo.codec("gpt2")
    reply = answered("gpt2", "Yo")
    rendered = zoo.chat("chatml").render(
        [Message("system", "Sys"), user("Hello"), reply, user("Why", 2)], answer=True
    )
    texts_of = [(s.kind, s.turn, codec.decode_bytes(ids).decode()) for s, ids in runs(rendered)]
    assert texts_of == [
        ("wrapper", 0, "<|im_start|>system\n"),
        ("system", 0, "Sys"),
        ("wrapper", 1, "<|im_end|>\n<|im_start|>user\n"),
        ("user", 1, "Hello"),
        ("wrapper", 1, "<|im_end|>\n<|im_start|>assistant\n"),
        ("answer", 1, "Yo"),
        ("wrapper", 2, "<|im_end|>\n<|im_start|>user\n"),
        ("user", 2, "Why"),
        ("wrapper", 2, "<|im_end|>\n<|im_start|>assistant\n"),
    ]


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("chatml", {"</s>", "<|im_end|>"}),
        ("llama3", {"</s>", "<|eot_id|>"}),
        ("gemma", {"</s>", "<end_of_turn>"}),
        ("phi3", {"</s>", "<|end|>"}),
        ("zephyr", {"</s>"}),
        ("none", {"</s>"}),
        ("harmony", {"</s>", "<|return|>"}),  # <|end|> also ends a thought there
        ("drops-system", {"</s>", "<|User|>"}),
    ],
)
def test_end_ids_are_eos_and_what_the_template_puts_behind_an_answer(name: str, ends: set[str]) -> None:
    assert zoo.chat(name).end_ids == {zoo.codec("gpt2").special[text] for text in ends}


def test_an_end_token_in_stored_ids_is_not_doubled() -> None:
    chat, codec = zoo.chat("chatml"), zoo.codec("gpt2")
    reply = answered("gpt2", "Yo")
    ended = Message("assistant", "Yo", 1, (*reply.ids, codec.special["<|im_end|>"]))
    assert chat.render([user("Hi"), ended], answer=False) == chat.render([user("Hi"), reply], answer=False)
