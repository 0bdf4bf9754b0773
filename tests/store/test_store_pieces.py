"""The search index against a plain model: packed sets, pieces of texts, and what a search finds."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from chatkv.errors import StoreError
from chatkv.store import Store, postings
from chatkv.store.fold import fold, origins, plain
from chatkv.store.grams import anywhere, beginning, pieces_of, whole

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=40)
CLOSE_TEXT = st.text(st.sampled_from("abcAÀ机器か👍ß_. \n"), max_size=25)
"""Few different characters, so that one text is often found in another."""
PLACES = st.sets(st.integers(0, postings.SIZE - 1), max_size=60) | st.builds(
    lambda start, step, n: set(range(start, postings.SIZE, step)[:n]),
    st.integers(0, postings.SIZE - 1),
    st.integers(1, 600),
    st.integers(0, postings.SIZE),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "chat.db") as store:
        yield store


@settings(max_examples=150, deadline=None)
@given(places=PLACES)
def test_a_packed_set_comes_back_and_is_never_longer_than_its_other_forms(places: set[int]) -> None:
    data = postings.packed(sorted(places))
    assert postings.unpacked(data) == sorted(places)
    assert len(data) <= 1 + min(2 * len(places), postings.SIZE // 8)


def test_each_form_of_a_packed_set_is_used() -> None:
    sets = ([0, 8191], range(0, 8192, 40), range(8192))
    assert [postings.packed(places)[0] for places in sets] == [0, 1, 2]
    assert [len(postings.packed(places)) for places in sets] == [5, 206, 1025]
    for damaged in (b"", b"\x07"):
        with pytest.raises(StoreError, match="damaged"):
            postings.unpacked(damaged)


@settings(max_examples=100, deadline=None)
@given(sets=st.lists(PLACES, min_size=1, max_size=4))
def test_what_packed_sets_have_in_common(sets: list[set[int]]) -> None:
    packed = [postings.packed(sorted(places)) for places in sets]
    assert postings.common(packed) == sorted(set.intersection(*sets))


@settings(max_examples=100, deadline=None)
@given(places=PLACES, gone=PLACES)
def test_what_is_left_of_a_packed_set(places: set[int], gone: set[int]) -> None:
    left = postings.without(postings.packed(sorted(places)), gone)
    assert (postings.unpacked(left) if left else []) == sorted(places - gone)


@settings(max_examples=200, deadline=None)
@given(text=ANY_TEXT)
def test_folding_is_stable_and_says_where_each_character_came_from(text: str) -> None:
    line = plain(text)
    folded = fold(line)
    assert folded == fold(text)
    places = origins(line) or list(range(len(line) + 1))
    assert len(places) == len(folded) + 1
    assert places == sorted(places)
    for index, char in enumerate(folded):
        assert char in fold(line[places[index]])
    assert fold(plain(text.upper().lower())) == fold(plain(text.lower()))


@settings(max_examples=examples(100, 300), deadline=None)
@given(text=CLOSE_TEXT | ANY_TEXT, word=CLOSE_TEXT.filter(str.strip) | ANY_TEXT.filter(str.strip))
def test_a_text_that_matches_has_all_pieces_of_the_query(text: str, word: str) -> None:
    """The index may give too much, never too little."""
    folded = fold(plain(text))
    for form in (whole, beginning, anywhere):
        needle = form(word)
        if needle.pieces and needle.pattern.search(folded):
            assert needle.pieces <= pieces_of(text)


def letters(text: str) -> str:
    """A model of folding that shares no code: lower case without marks, everything else a space."""
    split = unicodedata.normalize("NFKD", text.casefold())
    bare = unicodedata.normalize("NFC", "".join(c for c in split if not "\u0300" <= c <= "\u036f"))
    return "".join(c if c.isalnum() or c == "👍" else " " for c in bare)


def model(texts: list[str], query: str) -> set[int]:
    """Numbers of the texts in which each word of the query is a piece of a line of `letters`."""
    words = [" ".join(letters(word).split()) for word in query.split()]
    lines = [" ".join(letters(text).split()) for text in texts]
    return {number for number, line in enumerate(lines) if all(word in line for word in words if word)}


def test_search_finds_what_a_plain_look_at_every_text_finds(store: Store) -> None:
    """Words of three and more letters, dense characters and symbols; indexed or waiting, all the same."""
    alphabet = st.sampled_from(["abc", "bca", "cabc", "Àbc", "机", "器机", "👍", "xyz1"])
    joined = st.builds(
        lambda parts, gaps: "".join(part + gap for part, gap in zip(parts, gaps, strict=True)),
        *(
            st.lists(item, min_size=4, max_size=4)
            for item in (alphabet, st.sampled_from(["", " ", "\n", ". "]))
        ),
    )

    @settings(max_examples=60, deadline=None)
    @given(
        texts=st.lists(joined, min_size=1, max_size=6),
        query=st.lists(alphabet, min_size=1, max_size=2),
        n=st.integers(0, 6),
    )
    def check(texts: list[str], query: list[str], n: int) -> None:
        session = store.create_session("m")
        ids = [store.add_message(session.id, None, "user", text, turn=1).id for text in texts]
        if n:
            store.index_some(n)
        hits = store.search(" ".join(query), session_id=session.id)
        assert {ids.index(hit.message_id) for hit in hits} == model(texts, " ".join(query))
        assert len(hits) == len({hit.message_id for hit in hits})
        assert all(hit.spans for hit in hits)

    check()
