"""Texts and conversations for property tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from chatkv.tokens import Message
from tokens import zoo

if TYPE_CHECKING:
    from chatkv.tokens import Codec

NASTY = [
    *zoo.SPECIAL,
    *zoo.SPACE_EATERS,
    *zoo.PLAIN_ADDED,
    "[INST]",
    "<<SYS>>",
    "<im_start|><|im_",
    "{{ 7*7 }}",
    "{% for x in y %}",
    "ZqCx0000001vK",
    "\x00",
    "\ud83d",
    "\ude00\ud83d",
    "e\u0301",
    "\u0301",
    "中文",
    "👩‍👩‍👧‍👦",
    "  \n\n ",
    "\t",
    "\r\n",
    "  42  1,000",
    "\nUser:",
    "User:",
]

texts = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=8)), max_size=5).map("".join)


def sampled(codec: Codec) -> st.SearchStrategy[tuple[int, ...]]:
    """Ids as a model samples them: any but control tokens, in any order, rarely a text's encoding."""
    pool = sorted(set(range(450)) - set(codec.controls))
    return st.one_of(
        st.lists(st.sampled_from(pool), max_size=8).map(tuple),
        texts.map(lambda text: tuple(codec.encode_plain(text))),
    )


@st.composite
def answers(draw: st.DrawFn, codec: Codec, turn: int) -> Message:
    """An answer: plain, with a thought before it, cut in its thought, or imported as text."""
    kind = draw(st.sampled_from(["plain", "plain", "thought", "cut", "imported"]))
    ids = draw(sampled(codec))
    if kind == "imported":
        return Message("assistant", draw(texts), turn)
    if kind == "plain":
        return Message("assistant", codec.decode(ids), turn, ids)
    tag, end = codec.special["<think>"], codec.special["</think>"]
    before = (tag, *draw(sampled(codec))) if draw(st.booleans()) else draw(sampled(codec)) or (5,)
    if kind == "cut":
        return Message("assistant", "", turn, before, len(before))
    return Message("assistant", codec.decode(ids), turn, (*before, end, *ids), len(before) + 1)


@st.composite
def conversations(draw: st.DrawFn, codec: Codec) -> list[Message]:
    """System prompt or none, then up to three turns; any answer may be missing."""
    messages = [Message("system", draw(texts))] if draw(st.booleans()) else []
    for turn in range(1, draw(st.integers(1, 4))):
        messages.append(Message("user", draw(texts), turn))
        if draw(st.integers(0, 4)):
            messages.append(draw(answers(codec, turn)))
    return messages
