"""Streaming gives the text of decoding at once, finds stop strings anywhere and knows where ids belong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.tokens import TextStream
from tokens import zoo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatkv.tokens import Codec, Piece

TAGS = ("<think>", "</think>")
EXACT = [kind for kind in zoo.KINDS if kind != "wordpiece"]
any_ids = st.lists(st.integers(0, 480), max_size=30)
letters = st.text(alphabet="ab\n ", max_size=16)
stops = st.lists(st.text(alphabet="ab\n", min_size=1, max_size=4), max_size=3)


def run(stream: TextStream, ids: Sequence[int]) -> list[Piece]:
    pieces: list[Piece] = []
    for i in ids:
        pieces += stream.feed(i)
    return [*pieces, *stream.finish()]


def joined(pieces: Sequence[Piece], kind: str = "answer") -> str:
    return "".join(text for name, text in pieces if name == kind)


def split_ids(codec: Codec, text: str, sizes: Sequence[int]) -> list[int]:
    """Ids of `text` cut into pieces of these sizes in turn: the same text in other tokens."""
    ids: list[int] = []
    at = 0
    while at < len(text):
        size = sizes[len(ids) % len(sizes)] if sizes else 1
        ids += codec.encode_plain(text[at : at + size], after="text")
        at += size
    return ids


@settings(max_examples=150, deadline=None)
@given(kind=st.sampled_from(EXACT), ids=any_ids)
def test_any_ids_stream_to_the_text_of_decoding_at_once(kind: str, ids: list[int]) -> None:
    codec = zoo.codec(kind)
    stream = TextStream(codec)
    assert joined(run(stream, ids)) == codec.decode(ids)
    assert stream.kept == len(ids)
    assert stream.kept_ids == tuple(ids)
    assert stream.answer_start == 0


@settings(max_examples=60, deadline=None)
@given(text=st.lists(st.sampled_from(zoo.PROSE.split()), max_size=10).map(" ".join))
def test_a_decoder_without_byte_tables_streams_through_a_window(text: str) -> None:
    codec = zoo.codec("wordpiece")
    ids = codec.encode_plain(text)
    assert joined(run(TextStream(codec), ids)) == zoo.backend("wordpiece").decode(
        ids, skip_special_tokens=False
    )


@pytest.mark.parametrize("kind", ["gpt2", "first", "gemma"])
def test_a_character_is_never_shown_by_halves(kind: str) -> None:
    codec = zoo.codec(kind)
    stream = TextStream(codec)
    shown = [joined(stream.feed(i)) for i in codec.encode_plain("a👩‍👧é中")]
    assert "\ufffd" not in "".join(shown)
    assert "".join(shown) == "a👩‍👧é中"
    assert "" in shown, "an emoji takes several tokens here"


def test_half_a_character_at_the_end_becomes_the_replacement_character() -> None:
    codec = zoo.codec("gpt2")
    stream = TextStream(codec)
    pieces = [joined(stream.feed(i)) for i in codec.encode_plain("a🦜")[:-1]]
    assert "".join(pieces) == "a"
    assert joined(stream.finish()) == "\ufffd"


@settings(max_examples=150, deadline=None)
@given(text=letters, stop=stops, sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_stop_strings_are_found_however_the_text_is_split(
    text: str, stop: list[str], sizes: list[int]
) -> None:
    codec = zoo.codec("gpt2")
    stream = TextStream(codec, stop=stop)
    ids = split_ids(codec, text, sizes)
    found = [(text.find(one) + len(one), text.find(one)) for one in stop if one in text]
    expected = text[: min(found)[1]] if found else text
    assert joined(run(stream, ids)) == expected
    assert stream.stopped == bool(found)
    assert codec.decode(stream.kept_ids) == expected
    assert stream.kept_ids[: stream.kept] == tuple(ids[: stream.kept])
    assert codec.decode(ids[: stream.kept]) + stream.tail_text == expected


@settings(max_examples=150, deadline=None)
@given(before=any_ids, after=any_ids, kind=st.sampled_from(EXACT))
def test_ids_before_a_stop_string_are_kept_as_they_are(
    before: list[int], after: list[int], kind: str
) -> None:
    codec = zoo.codec(kind)
    stop = codec.encode_plain("\nUser:", after="text")
    stream = TextStream(codec, stop=["\nUser:"])
    text = joined(run(stream, [*before, *stop, *after]))
    whole = codec.decode([*before, *stop, *after])
    if "\nUser:" in whole:
        assert stream.stopped
        assert text == whole[: whole.index("\nUser:")]
        assert stream.kept_ids[: stream.kept] == (*before, *stop, *after)[: stream.kept]
        assert codec.decode(stream.kept_ids) == text


def test_nothing_is_held_back_but_what_may_become_a_stop_string() -> None:
    codec = zoo.codec("gpt2")
    stream = TextStream(codec, stop=["\nUser:"])
    assert joined(stream.feed(codec.encode_plain("a")[0])) == "a"
    assert joined(stream.feed(codec.encode_plain("\n")[0])) == ""
    assert joined(stream.feed(codec.encode_plain("a")[0])) == "\na"
    assert joined(stream.feed(codec.encode_plain("\n")[0])) == ""
    assert joined(stream.finish()) == "\n"


@settings(max_examples=150, deadline=None)
@given(
    thought=st.text(alphabet="xy </thin\n", max_size=20),
    answer=st.text(alphabet="ab <think>/\n", max_size=20),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    opened=st.booleans(),
)
def test_tags_are_found_however_the_text_is_split(
    thought: str, answer: str, sizes: list[int], opened: bool
) -> None:
    codec = zoo.codec("gpt2")
    text = ("" if opened else "\n<think>") + f"{thought}</think>\n\n{answer}"
    stream = TextStream(codec, think_tags=TAGS, in_thought=opened)
    ids = split_ids(codec, text, sizes)
    pieces = run(stream, ids)
    assert joined(pieces, "thought") == thought.strip()
    assert joined(pieces) == answer.lstrip()
    if answer.strip():
        assert codec.decode(ids[stream.answer_start :]).endswith(answer.lstrip())
        assert not codec.decode(ids[stream.answer_start + 1 :]).endswith(answer.lstrip())
    else:
        assert stream.answer_start == len(ids)


def test_tags_that_are_tokens_count_and_other_control_tokens_have_no_text() -> None:
    codec = zoo.codec("gpt2")
    open_tag, close_tag, end = (codec.special[text] for text in (*TAGS, "<|im_end|>"))
    ids = [open_tag, *codec.encode_plain("\nhm\n"), close_tag, *codec.encode_plain("\n\nYes"), end]
    stream = TextStream(codec, think_tags=TAGS)
    assert joined(run(stream, ids), "thought") == "hm"
    assert codec.decode(ids[stream.answer_start :]) == "Yes"
    assert joined(run(TextStream(codec), [*codec.encode_plain("a"), end, *codec.encode_plain("b")])) == "ab"


def test_an_answer_without_a_thought_is_not_held_back() -> None:
    codec = zoo.codec("gpt2")
    stream = TextStream(codec, think_tags=TAGS)
    assert joined(stream.feed(codec.encode_plain("a")[0])) == "a"
    assert joined(stream.feed(codec.special["<think>"])) == "<think>", (
        "only a thought at the beginning is one"
    )
    assert stream.answer_start == 0


def test_a_thought_that_never_ends_has_no_answer() -> None:
    codec = zoo.codec("gpt2")
    stream = TextStream(codec, think_tags=TAGS, stop=["x"])
    ids = [codec.special["<think>"], *codec.encode_plain(" axb </th")]
    assert joined(run(stream, ids), "thought") == "axb </th", "a stop string ends answers, not thoughts"
    assert stream.answer_start == stream.kept == len(ids)
    assert not stream.stopped


def test_what_is_fed_after_the_stop_does_not_count() -> None:
    codec = zoo.codec("gpt2")
    stream = TextStream(codec, stop=["."])
    ids = codec.encode_plain("one. two.")
    assert joined(run(stream, ids)) == "one"
    assert stream.feed(ids[0]) == []
    assert codec.decode(stream.kept_ids) == "one"


def test_an_id_outside_the_vocabulary_has_no_text() -> None:
    codec = zoo.codec("gpt2")
    assert codec.decode([10**6]) == ""
    assert run(TextStream(codec), [10**6]) == []
