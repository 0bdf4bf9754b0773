"""Search finds words in any script, takes every query for data, and marks what it found."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from chatkv.store import SearchHit, Status, Store
from chatkv.store.fold import plain
from chatkv.store.grams import pieces_of
from chatkv.store.postings import unpacked
from chatkv.store.search import words_of

TEXTS = {
    "zh": "我喜欢机器学习,也喜欢GPT模型。",
    "ja": "東京タワーは高いです。メモリが足りない",
    "ko": "한국어를 공부합니다",
    "th": "ผมชอบอ่านหนังสือ",
    "fr": "Le Café crème, naïve façade",
    "de": "Die Straße zum Übergang",
    "en": "The quick brown fox caches keys and values; kv_cache.crop(-3)",
    "nul": "before\0after \ud800 surrogate",
}


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with `TEXTS`, which no test adds to."""
    with Store.open(tmp_path_factory.mktemp("talk") / "chat.db") as store:
        session = store.create_session("m", "talk")
        for text in TEXTS.values():
            store.add_message(session.id, None, "user", text, turn=1)
        yield store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "chat.db") as store:
        yield store


def found(hits: list[SearchHit]) -> set[str]:
    names = dict(enumerate(TEXTS, start=1))
    return {names[hit.message_id] for hit in hits}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("机器", {"zh"}),
        ("习", {"zh"}),
        ("器学", {"zh"}),
        ("学器", set()),
        ("喜欢 模型", {"zh"}),
        ("GPT模", {"zh"}),
        ("gpt模型", {"zh"}),
        ("京", {"ja"}),
        ("タワ", {"ja"}),
        ("メモリか", set()),
        ("공부", {"ko"}),
        ("국", {"ko"}),
        ("หนังสือ", {"th"}),
        ("cafe creme", {"fr"}),
        ("CAFÉ", {"fr"}),
        ("cafe\u0301", {"fr"}),
        ("FACADE naive", {"fr"}),
        ("straße", {"de"}),
        ("ubergang", {"de"}),
        ("quick val", {"en"}),
        ("quic values", {"en"}),
        ("uick alue", {"en"}),
        ("quick values cat", set()),
        ("kv_cache", {"en"}),
        ("cache", {"en"}),
        ("crop(-3)", {"en"}),
        ("after", {"nul"}),
        ("surrogate", {"nul"}),
        ("fox 机器", set()),
    ],
)
def test_words_are_found(talk: Store, query: str, expected: set[str]) -> None:
    hits = talk.search(query)
    assert found(hits) == expected
    assert all(hit.spans for hit in hits)


HOSTILE = [
    "",
    " ",
    '"',
    '""',
    '"unclosed',
    "*",
    "fox*",
    "*fox",
    "-",
    "-fox",
    "+fox",
    "NOT fox",
    "fox AND",
    "OR",
    "NEAR(fox brown, 2)",
    "text:fox",
    "^fox",
    "{a b}: c",
    "(fox",
    "fox)",
    "\0",
    "f\0ox",
    "\ud800",
    "fox\udfff",
    "'; DROP TABLE messages; --",
    "fox" * 1000,
    "fox " * 100_000,
    "机" * 100_000,
    '"' * 1000,
    "\x01\x02",
    "é" * 500,
    "🎉",
    "%_\\",
]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_queries_are_only_words(talk: Store, query: str) -> None:
    for hit in talk.search(query):
        assert hit.spans


def test_operators_mean_nothing(talk: Store) -> None:
    assert found(talk.search("the -fox")) == {"en"}
    assert found(talk.search('"fox the"')) == {"en"}
    assert found(talk.search("NOT fox")) == set()


def test_no_query_is_an_error(talk: Store) -> None:
    @settings(deadline=None, max_examples=examples(60, 150))
    @given(query=st.text(st.characters(codec=None, categories=None)))
    def check(query: str) -> None:
        talk.search(query)

    check()


def test_the_words_of_a_text_find_it_and_are_marked(store: Store) -> None:
    @settings(deadline=None, max_examples=100)
    @given(text=st.text(st.sampled_from("aÀéz机學카な 9_-.\0İß"), max_size=30), data=st.data())
    def check(text: str, data: st.DataObject) -> None:
        session = store.create_session("m")
        message = store.add_message(session.id, None, "user", text, turn=1)
        chosen = data.draw(st.lists(st.sampled_from(words_of(text)), min_size=1)) if words_of(text) else []
        hits = store.search(" ".join(chosen), session_id=session.id)
        assert [hit.message_id for hit in hits] == ([message.id] if chosen else [])
        for hit in hits:
            marked = [hit.snippet[low:high] for low, high in hit.spans]
            assert marked
            assert all(piece and piece == piece.strip(" _-.") for piece in marked)

    check()


def test_spans_are_those_of_fts5(talk: Store) -> None:
    """Where a word or its beginning is in a text, SQLite's own search finds and marks the same."""
    connection = sqlite3.connect(":memory:")
    connection.execute(
        """CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = "unicode61 remove_diacritics 2")"""
    )
    connection.executemany("INSERT INTO texts VALUES (?)", [(plain(text),) for text in TEXTS.values()])
    for query in ("cafe creme", "the quick", "kv_cache", "straße", "ubergang zum", "before after", "va"):
        (hit,) = talk.search(query)
        phrases = " ".join(f'"{word}"' for word in query.split()) + "*"
        ((text,),) = connection.execute(
            "SELECT highlight(texts, 0, '[', ']') FROM texts WHERE texts MATCH ?", (phrases,)
        )
        marked = hit.snippet
        for low, high in reversed(hit.spans):
            marked = f"{marked[:low]}[{marked[low:high]}]{marked[high:]}"
        assert whole_words(text) == whole_words(marked)
    connection.close()


def whole_words(marked: str) -> list[str]:
    """Words that hold a mark. Where a word's beginning matched, FTS5 marks all of it, a snippet the beginning."""
    return [word.replace("]", "") for word in marked.split() if "[" in word]


def test_a_snippet_shows_where_most_words_are(store: Store) -> None:
    session = store.create_session("m")
    text = f"alpha {'lorem ' * 200}\nalpha beta\t机器 {'ipsum ' * 200}"
    store.add_message(session.id, None, "user", text, turn=1)
    (hit,) = store.search("beta 机器 alp", session_id=session.id)
    assert len(hit.snippet) <= 200
    assert [hit.snippet[low:high] for low, high in hit.spans] == ["alp", "beta", "机器"]
    assert "\n" not in hit.snippet


def test_a_long_match_is_cut_with_its_snippet(store: Store) -> None:
    session = store.create_session("m")
    store.add_message(session.id, None, "user", "x" * 100_000, turn=1)
    (hit,) = store.search("x" * 100_000, session_id=session.id)
    assert hit.spans == ((0, 200),)
    assert len(hit.snippet) == 200


def test_a_megabyte_of_matches_is_found_at_once(store: Store) -> None:
    session = store.create_session("m")
    store.add_message(session.id, None, "user", "key 机 value " * 100_000, turn=1)
    (hit,) = store.search("机 val", session_id=session.id)
    assert hit.snippet.startswith("key 机 value key")


def test_better_matches_come_first_and_pages_do_not_overlap(store: Store) -> None:
    session = store.create_session("m")
    best = store.add_message(session.id, None, "user", "zebra zebra zebra", turn=1)
    others = [
        store.add_message(session.id, None, "user", f"one zebra among {'many ' * n}animals", turn=1)
        for n in (2, 20, 200)
    ]
    pages = [store.search("zebra", limit=2, offset=offset) for offset in (0, 2, 4)]
    ids = [[hit.message_id for hit in page] for page in pages]
    assert ids == [[best.id, others[0].id], [others[1].id, others[2].id], []]


def test_search_keeps_to_a_session_and_forgets_a_deleted_one(store: Store) -> None:
    one, two = store.create_session("m", "one"), store.create_session("m", "two")
    for session in (one, two):
        store.add_message(session.id, None, "user", "walrus", turn=1)
    assert {hit.session_title for hit in store.search("walrus")} == {"one", "two"}
    assert {hit.session_title for hit in store.search("walrus", session_id=one.id)} == {"one"}
    store.delete(one.id)
    assert {hit.session_title for hit in store.search("walrus")} == {"two"}


def test_an_answer_is_found_when_it_has_ended_and_by_its_last_text(store: Store) -> None:
    _, answer = store.add_exchange(store.create_session("m").id, None, "q", 1, "m")

    def save(text: str, *, streaming: bool) -> None:
        status: Status = "streaming" if streaming else "complete"
        store.update_answer(answer.id, text=text, thought="", ids=(), answer_start=0, status=status)

    save("okapi", streaming=True)
    assert store.search("okapi") == []
    save("okapi", streaming=False)
    assert [hit.message_id for hit in store.search("okapi")] == [answer.id]
    save("quagga", streaming=False)
    assert store.search("okapi") == []
    assert [hit.role for hit in store.search("quagga")] == ["assistant"]


def test_the_index_stays_sound(store: Store) -> None:
    """After any work, indexed in any steps: the pieces of the messages that are there, and no others."""
    kept, gone = store.create_session("m"), store.create_session("m")
    for session in (kept, gone):
        store.add_message(session.id, None, "user", "word 机器", turn=1)
    _, answer = store.add_exchange(kept.id, None, "q", 1, "m")
    store.index_some(1)
    for text, status in (("first", "stopped"), ("second", "streaming"), ("third one", "complete")):
        values = {"text": text, "thought": "", "ids": (), "answer_start": 0}
        store.update_answer(answer.id, **values, status=status)  # type: ignore[arg-type]
        store.index_some(1)
    while store.index_some(2):
        pass
    store.delete(gone.id)
    with store._reading("look") as connection:
        rows = connection.execute("SELECT shard, piece, docs FROM search_pieces").fetchall()
        texts = connection.execute("SELECT id, text FROM messages").fetchall()
    found = {(row["piece"], place) for row in rows for place in unpacked(row["docs"])}
    assert found == {(piece, row["id"]) for row in texts for piece in pieces_of(row["text"])}
