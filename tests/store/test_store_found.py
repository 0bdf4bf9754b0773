"""What a search finds beyond whole words, in which order, and what it says while the index is not complete."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatkv.store import SearchHit, Store, search
from chatkv.store.fold import recipe

TEXTS = {
    "code": "see chatkv/store/utils.py: foo_barBaz = myKvCaches[0]",
    "url": "https://example.org/docs/index.html?q=walrus&id=4711",
    "zh": "我喜欢机器学习",
    "th": "ผมชอบอ่านหนังสือ",
    "ko": "한국어를 공부합니다",
    "hi": "नमस्ते दुनिया",
    "ru": "Ещё один ёжик",
    "ar": "مرحبا بالعالم",
    "de": "Die STRASSE und der Übergang",
    "fr": "Œuvre: l’été à Nîmes … café",
    "wide": "ｆｕｌｌ ｗｉｄｔｈ ﬁne",
    "joined": "auto\u00admatic family 👨‍👩‍👧 here",
    "emoji": "well done 👍🏽🎉!",
    "math": "∑ of x² ≤ 5 €",
}


@pytest.fixture(scope="module", params=["waiting", "indexed"])
def talk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with `TEXTS`: none of them in the index, or all."""
    with Store.open(tmp_path_factory.mktemp("talk") / "chat.db") as store:
        session = store.create_session("m")
        for text in TEXTS.values():
            store.add_message(session.id, None, "user", text, turn=1)
        if request.param == "indexed":
            assert store.index_some() == 0
        yield store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "chat.db") as store:
        yield store


def said(store: Store, *texts: str) -> list[int]:
    session = store.create_session("m")
    return [store.add_message(session.id, None, "user", text, turn=1).id for text in texts]


def marked(hit: SearchHit) -> list[str]:
    return [hit.snippet[low:high] for low, high in hit.spans]


@pytest.mark.parametrize(
    ("query", "name", "spans"),
    [
        ("cache", "code", ["Cache"]),
        ("kvcach", "code", ["KvCach"]),
        ("utils.py", "code", ["utils.py"]),
        ("tils.p", "code", ["tils.p"]),
        ("store/util", "code", ["store/util"]),
        ("foo_bar", "code", ["foo_bar"]),
        ("oo_barb", "code", ["oo_barB"]),
        ("caches chatkv", "code", ["chatkv", "Caches"]),
        ("my", "code", ["my"]),
        ("0", "code", ["0"]),
        ("example.org/docs", "url", ["example.org/docs"]),
        ("alrus", "url", ["alrus"]),
        ("q=walrus&id", "url", ["q=walrus&id"]),
        ("711", "url", ["711"]),
        ("学", "zh", ["学"]),
        ("器学", "zh", ["器学"]),
        ("喜欢机器学习", "zh", ["喜欢机器学习"]),
        ("หนัง", "th", ["หนัง"]),
        ("ช", "th", ["ช"]),
        ("국어를", "ko", ["국어를"]),
        ("नमस्ते", "hi", ["नमस्ते"]),
        ("दुनि", "hi", ["दुनि"]),
        ("еще", "ru", ["Ещё"]),
        ("ежи", "ru", ["ёжи"]),
        ("عالم", "ar", ["عالم"]),
        ("straße", "de", ["STRASSE"]),
        ("bergang", "de", ["bergang"]),
        ("nimes cafe", "fr", ["Nîmes", "café"]),
        ("été", "fr", ["été"]),
        ("full width fine", "wide", ["ｆｕｌｌ", "ｗｉｄｔｈ", "ﬁne"]),
        ("ine", "wide", ["ﬁne"]),
        ("automatic", "joined", ["auto\u00admatic"]),
        ("👨‍👩‍👧", "joined", ["👨‍👩‍👧"]),
        ("👩", "joined", ["👩"]),
        ("👍", "emoji", ["👍"]),
        ("👍🏽🎉", "emoji", ["👍🏽🎉"]),
        ("🎉", "emoji", ["🎉"]),
        ("∑", "math", ["∑"]),
        ("x2", "math", ["x²"]),
        ("€", "math", ["€"]),
    ],
)
def test_pieces_in_any_script_are_found_and_marked(
    talk: Store, query: str, name: str, spans: list[str]
) -> None:
    (hit,) = talk.search(query)
    assert list(TEXTS)[hit.message_id - 1] == name
    assert marked(hit) == spans


@pytest.mark.parametrize(
    "query", ["学机", "foo bar_baz", "utilspy", "v", "ches", "👎", "cafes", "->", "x3", "ไทย"]
)
def test_what_is_not_there_is_not_found(talk: Store, query: str) -> None:
    if query in ("foo bar_baz", "v", "ches"):
        found = {list(TEXTS)[hit.message_id - 1] for hit in talk.search(query)}
        assert found == {"foo bar_baz": set(), "v": set(), "ches": {"code"}}[query]
    else:
        assert talk.search(query) == []


def test_whole_words_come_before_beginnings_and_those_before_pieces(store: Store) -> None:
    whole, piece, longer, other = said(store, "a cache here", "kvcache kvcache", "caches", "cachet cache")
    assert [hit.message_id for hit in store.search("cache")] == [other, whole, longer, piece]
    assert [marked(hit) for hit in store.search("cache")] == [
        ["cache"],
        ["cache"],
        ["cache"],
        ["cache", "cache"],
    ]


def test_titles_are_found_unless_a_message_stands_for_them(store: Store) -> None:
    named = store.create_session("m", "Walrus café plans")
    other = store.create_session("m", "the walruses")
    store.add_message(named.id, None, "user", "nothing of it", turn=1)
    (title,) = store.search("cafe wal")
    assert (title.session_id, title.message_id, title.role) == (named.id, 0, "title")
    assert marked(title) == ["Wal", "café"]
    assert title.created_at == store.session(named.id).updated_at
    assert [hit.session_id for hit in store.search("walrus")] == [named.id, other.id]
    message = store.add_message(named.id, None, "user", "a walrus", turn=2)
    assert [(hit.session_id, hit.message_id) for hit in store.search("walrus")] == [
        (named.id, message.id),
        (other.id, 0),
    ]
    assert [hit.message_id for hit in store.search("walrus", session_id=named.id)] == [message.id]
    assert store.search("walrus", session_id=other.id) == []
    store.rename(other.id, "else")
    assert [hit.message_id for hit in store.search("walruse")] == []


def test_pages_of_many_matches_show_each_once_and_the_newest_hundreds_first(store: Store) -> None:
    n = search.RANKED + 150
    ids = said(store, *(f"zebra {'word ' * (number % 7)}" for number in range(n)), "zebras", "azebra")
    store.index_some(n // 2)
    pages = [store.search("zebra", limit=100, offset=offset) for offset in range(0, n + 100, 100)]
    found = [hit.message_id for page in pages for hit in page]
    assert sorted(found) == ids
    assert set(found[: search.RANKED]) == set(ids[n - search.RANKED : n])
    assert found[n:] == ids[n:]
    assert found == [hit.message_id for hit in store.search("zebra", limit=n + 10)]


def test_old_messages_that_wait_are_counted_and_found_when_they_are_indexed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = said(store, *(f"okapi {number}" for number in range(30)))
    assert (store.n_waiting(), store.n_unindexed()) == (30, 0)
    monkeypatch.setattr(search, "SCANNED", 10)
    assert store.n_unindexed() == 20
    assert [hit.message_id for hit in store.search("okapi", limit=99)] == ids[:19:-1]
    assert store.index_some(5) == 25
    assert {hit.message_id for hit in store.search("okapi", limit=99)} == set(ids[15:])
    assert store.n_unindexed() == 15
    while store.index_some(7):
        pass
    assert {hit.message_id for hit in store.search("okapi", limit=99)} == set(ids)
    assert store.n_unindexed() == 0


def test_those_who_only_search_get_a_complete_index(store: Store) -> None:
    said(store, *(f"text {number}" for number in range(980)))
    for _ in range(3):
        assert len(store.search("text", limit=1000)) == 980
    with store._reading("look") as connection:
        (n,) = connection.execute("SELECT sum(high - low + 1) FROM search_queue").fetchone()
    assert n < 900


def test_a_search_neither_waits_for_a_writer_nor_needs_to_write(store: Store) -> None:
    said(store, *(f"text {number}" for number in range(950)))
    other = sqlite3.connect(store.file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert len(store.search("text", limit=1000)) == 950
    other.execute("ROLLBACK")
    other.close()
    with Store.open(store.file, read_only=True) as reader:
        assert len(reader.search("text", limit=1000)) == 950
    with store._reading("look") as connection:
        assert connection.execute("PRAGMA busy_timeout").fetchone()[0] == 5000


def test_an_index_made_by_other_rules_is_made_anew(store: Store) -> None:
    """Another Python has newer Unicode tables."""
    ids = said(store, "one walrus", "two walrus", "xylophone")
    store.index_some()
    with store._writing("pretend") as connection:
        connection.execute("UPDATE search_shards SET recipe = 'other'")
        connection.execute("INSERT INTO search_pieces VALUES (0, '=xylophone-of-old', x'000000')")
    assert len(store.search("walrus")) == 2
    store.index_some()
    while store.index_some():
        pass
    assert [hit.message_id for hit in store.search("walrus")] == ids[1::-1]
    with store._reading("look") as connection:
        assert connection.execute("SELECT recipe FROM search_shards").fetchone()[0] == recipe()
        assert (
            connection.execute("SELECT count(*) FROM search_pieces WHERE piece LIKE '%old'").fetchone()[0]
            == 0
        )


def test_indexed_words_of_a_deleted_session_are_gone_from_the_files(store: Store) -> None:
    """Among thousands of other words, whose pages they were on."""
    chance = random.Random(7)
    letters = "abcdefghijklm"
    secret = ["xylophone", "zugzwang", "qwertz_qux", "旅行者"]

    def some(n: int) -> str:
        return " ".join("".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(n))

    gone, kept = store.create_session("m", "xylophone"), store.create_session("m", "walrus")
    for number in range(400):
        store.add_message(kept.id, None, "user", f"walrus {some(30)}", turn=1)
        if number % 4 == 0:
            store.add_message(gone.id, None, "user", f"{some(20)} {' '.join(secret)} {some(9)}", turn=1)
        if number % 50 == 0:
            store.index_some(60)
    while store.index_some():
        pass
    assert len(store.search("ylophon qwertz_q 行者", limit=500)) == 100
    store.delete(gone.id)
    content = b"".join(path.read_bytes() for path in store.file.parent.iterdir())
    assert b"=walrus" in content
    for word in ("xylo", "=zugz", "zug", "qwe", "=qux", "旅", "行者", "xyl", "^xy"):
        assert word.encode() not in content, word
    assert len(store.search("walrus", limit=500)) == 400
    assert all("qwertz" not in hit.snippet for hit in store.search("a", limit=500))
