"""What is written and not sent: kept exactly, per session, gone with it; and what was said before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatkv.store import Store, drafts


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    moments = iter(range(1, 1_000_000))
    with Store.open(tmp_path / "chat.db", clock=lambda: float(next(moments))) as store:
        yield store


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), min_size=1), st.booleans())
def test_a_draft_comes_back_exactly(store: Store, text: str, stored: bool) -> None:
    session = store.create_session("m").id if stored else None
    labels = ((0, len(text), "⟦paste 1⟧"),)
    assert store.set_draft(session, text, labels)
    found = store.draft(session)
    assert found is not None
    assert (found.text, found.labels) == (text, labels)
    assert store.set_draft(session, "")
    assert store.draft(session) is None


def test_each_session_has_one_and_the_last_writer_wins(store: Store, tmp_path: Path) -> None:
    first, second = store.create_session("m").id, store.create_session("m").id
    store.set_draft(first, "one")
    store.set_draft(None, "new")
    with Store.open(tmp_path / "chat.db") as other:
        other.set_draft(first, "later")
        assert other.draft(second) is None
    texts = [found and found.text for found in map(store.draft, (first, second, None))]
    assert texts == ["later", None, "new"]


def test_a_draft_goes_with_its_session(store: Store, tmp_path: Path) -> None:
    session = store.create_session("m").id
    store.set_draft(session, "a secret that is gone")
    store.delete(session)
    assert store.draft(session) is None
    assert not store.set_draft(session, "too late")
    assert b"a secret" not in (tmp_path / "chat.db").read_bytes()


def test_drafts_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "_MAX_DRAFTS", 3)
    monkeypatch.setattr(drafts, "_MAX_CHARS", 10)
    sessions = [store.create_session("m").id for _ in range(5)]
    for session in sessions:
        store.set_draft(session, "x")
    assert [session for session in sessions if store.draft(session)] == sessions[-3:]
    assert not store.set_draft(sessions[-1], "eleven long")
    assert store.draft(sessions[-1]) is None


def test_what_was_said_comes_newest_first_in_pages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        session = store.create_session("m").id
        leaf = None
        for n in range(3):
            leaf = store.add_message(session, leaf, "user", f"{name}{n}", turn=n + 1).id
            leaf = store.add_message(session, leaf, "assistant", "answer", turn=n + 1).id
    page = store.asked(4)
    assert [asked.text for asked in page] == ["b2", "b1", "b0", "a2"]
    assert [asked.text for asked in store.asked(4, page[-1].message_id)] == ["a1", "a0"]
    monkeypatch.setattr(drafts, "_MAX_ASKED_CHARS", 1)
    assert store.asked(4) == []
