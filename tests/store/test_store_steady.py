"""Whatever befalls the file of an open session, each change works at once, and all of it is saved in the end."""

from __future__ import annotations

import resource
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import troubles
from hypothesis import given, settings
from hypothesis import strategies as st
from saving import ACTS, BEGINNING, Talk, begun, on_file, steady_of, undisturbed
from thorough import examples

from chatkv.store import SteadyStore, steady


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "_PATIENCE_MS", 20)
    monkeypatch.setattr(steady, "_IMPATIENCE_MS", 20)
    monkeypatch.setattr(steady, "RETRY_S", 3600.0)  # tests say when time has passed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "chat.db"


@pytest.mark.parametrize("moment", ["before a send", "in an answer"])
@pytest.mark.parametrize("trouble", troubles.ALL, ids=lambda trouble: trouble.__name__)
def test_nothing_is_lost_to_any_trouble(
    trouble: troubles.Trouble, moment: str, file: Path, tmp_path: Path
) -> None:
    before = ["say", "grow"] if moment == "in an answer" else []
    during = ["grow", "end"] if before else ["say", "grow", "end"]
    during += ["event", "document", "say", "grow", "end", "summary"]
    talk = begun(file)
    store = steady_of(talk)
    for act in before:
        talk.do(act)
    with trouble(file, store):
        slowest = 0.0
        for act in during:
            started = time.monotonic()
            talk.do(act)
            slowest = max(slowest, time.monotonic() - started)
        assert store.trouble
        assert str(file) in store.trouble
        assert slowest < 3
        if trouble in troubles.BARRED:
            assert store.retry() == {}
            assert store.trouble
    talk.rest()
    assert store.trouble == ""
    talk.do("say")
    talk.do("end")
    assert store.trouble == ""
    store.close()
    acts = [*BEGINNING, *before, *during, "say", "end"]
    expected = undisturbed(tmp_path, acts)
    if trouble is troubles.unreadable:  # documents are not known by heart, nor what was undone
        del expected["documents"][0], expected["passages"][:2]
        expected["passages"] = [{**row, "document_id": 0} for row in expected["passages"]]
    assert on_file(file, talk.id) == expected


@settings(max_examples=examples(40, 100), deadline=None)
@given(
    steps=st.lists(st.sampled_from(ACTS), min_size=1, max_size=12),
    trouble=st.sampled_from(troubles.ALL),
    begins=st.integers(0, 8),
    lasts=st.integers(0, 8),
    eager=st.booleans(),
)
def test_any_sequence_of_changes_ends_up_in_the_file(
    steps: list[str], trouble: troubles.Trouble, begins: int, lasts: int, eager: bool
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        ExitStack() as after,
    ):
        if eager:  # every change tries the file again
            patch.setattr(steady, "RETRY_S", 0.0)
            patch.setattr(steady, "_SHARE", 0)
        file = Path(folder, "home", "chat.db")
        store = after.enter_context(SteadyStore.open(file))
        talk = Talk(store)
        for act in ("say", "end"):
            talk.do(act)
        if trouble is troubles.unreadable:
            steps = [step for step in steps if step not in ("document", "event", "undo", "back")]
        with ExitStack() as now:
            for n, act in enumerate(steps):
                if n == begins:
                    now.enter_context(trouble(file, store))
                if n == begins + lasts:
                    now.close()
                talk.rest() if act == "rest" else talk.do(act)
        if talk.running:
            talk.do("end")
            steps = [*steps, "end"]
        talk.rest()
        assert store.trouble == ""
        store.close()
        wanted = undisturbed(Path(folder), ["say", "end", *steps])
        assert on_file(file, talk.id) == wanted


class Limit:
    """No file of this process may grow beyond what it is: the system's own refusal, in mid-write."""

    def __enter__(self) -> None:
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, self.before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)


def test_a_disk_that_takes_no_more_bytes_is_tried_again(file: Path, tmp_path: Path) -> None:
    talk = begun(file)
    store = steady_of(talk)
    during = ["say", "grow", "grow", "end", "document"]
    with Limit():
        for act in during:
            talk.do(act)
        assert store.trouble
        assert store.retry() == {}
        assert store.trouble
    talk.rest()
    assert store.trouble == ""
    store.close()
    assert on_file(file, talk.id) == undisturbed(tmp_path, [*BEGINNING, *during])


def test_a_long_lock_is_waited_for_once_and_not_at_each_change(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steady, "_PATIENCE_MS", 400)
    talk = begun(file)
    store = steady_of(talk)
    with troubles.locked(file, store):
        started = time.monotonic()
        talk.do("say")
        assert time.monotonic() - started > 0.35
        started = time.monotonic()
        for _ in range(20):
            talk.do("grow")
        assert time.monotonic() - started < 0.35
        assert 0 < (store.retry_in_s() or 0) <= steady.RETRY_S
    talk.do("end")
    assert store.trouble  # it is not tried at every change
    talk.rest()
    assert store.trouble == ""
    assert store.retry_in_s() is None
