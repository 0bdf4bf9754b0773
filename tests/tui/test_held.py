"""Whether a loaded model is a session's own, what the banner says of it, and how the worker is changed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.client import WorkerClient
from chatkv.protocol import Event, Opened, Ready
from chatkv.tui.behind.launch import with_model
from chatkv.tui.behind.link import Died, Left, Link, Started
from chatkv.tui.behind.stock import Offer, Stock
from chatkv.tui.talk.conversation import Conversation
from chatkv.tui.talk.exchange import Exchange, Front, GiveBack, Issue
from chatkv.tui.talk.held import Held
from tui.model_shelf import OTHER, shelve, write_folder

A, B, C = "a", "b", "c"
WORKER = """
import sys
model = sys.argv[1]
print('{"type": "loading", "stage": "x"}', flush=True)
if model == "bad":
    sys.exit("no such thing")
print('{"type": "ready", "model": "%s", "device": "cpu", "dtype": "f32", "context_tokens": 1,'
      ' "bytes_per_token": 1, "load_s": 0.1}' % model, flush=True)
for line in sys.stdin:
    if "close" in line:
        break
"""


def test_only_the_sessions_own_model_or_one_that_was_agreed_may_go_on() -> None:
    held = Held()
    held.loaded, held.loading = A, "org/a"
    assert not held.differs, "a session in which nothing was said has no model yet"
    held.take(B, "org/b")
    assert (held.differs, held.strange) == (True, True)
    held.agree("org/a")
    assert (held.differs, held.strange, held.words) == (True, False, "Held with b; a goes on with it.")
    held.loaded, held.loading = C, "org/c"
    assert held.strange, "what was agreed was another"
    held.go_on()
    assert (held.name, held.spec, held.words) == (C, "org/c", "")
    held.learn(C)
    assert held.spec == "org/c"
    held.learn(A)
    assert (held.strange, held.spec) == (True, "")


def test_folders_of_one_name_are_one_model_only_if_they_are_one_folder(tmp_path: Path) -> None:
    here, there = (write_folder(tmp_path / name / "model") for name in ("here", "there"))
    linked = tmp_path / "link"
    linked.symlink_to(here)
    held = Held()
    held.loaded, held.loading = "model", str(here)
    for spec, differs in ((here, False), (there, True), (linked, False), (tmp_path / "moved", False)):
        held.take("model", str(spec))
        assert held.differs is differs, spec


@pytest.mark.parametrize(
    ("spec", "here", "words"),
    [
        ("org/b", None, "Held with b; a is loaded."),
        ("org/b", True, "Held with b, which is on this machine; a is loaded."),
        ("org/b", False, "Held with b, which is not on this machine; a is loaded."),
        ("/x/b", False, "Held with b, which is no longer at /x/b; a is loaded."),
    ],
)
def test_the_banner_says_where_the_model_is(spec: str, here: bool | None, words: str) -> None:
    held = Held()
    held.loaded, held.loading = A, "org/a"
    held.take(B, spec)
    held.here = here
    assert (
        held.words == f"{words} Read only until you choose: ⟨composer.submit⟩, ⟨chat.model⟩ or a click here."
    )


def talk(model: str) -> Conversation:
    """A stored session of one turn, held with `model`; a worker with model `a` is there."""
    chat = Conversation()
    chat.held.loading = A
    chat.show_session("s", "t", [Exchange(0, "x", "y", user_id=1, answer_id=2)], model=model, spec=model)
    return chat


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3), st.booleans())
def test_nothing_written_is_lost_or_sent_to_another_model(texts: list[str], early: bool) -> None:
    chat = talk(B)
    opened = Opened("s", "t", B, 2)
    updates = []
    events: list[Event] = [Ready(A, "cpu", "f32", 1, 1, 0.1), opened]
    if early:
        for text in texts:
            updates += chat.submit(text)
    for event in events:
        updates += chat.on_event(event)
    if not early:
        for text in texts:
            updates += chat.submit(text)
    given_back = [update.text for update in updates if isinstance(update, GiveBack)]
    assert not [update for update in updates if isinstance(update, Issue)]
    assert Front("models") in updates
    assert chat.board.queue == []
    assert [part.lstrip("/") for part in given_back] == [
        part.lstrip("/") for part in (["\n\n".join(texts)] if early else texts)
    ]


def test_the_own_model_sends_what_waited() -> None:
    chat = talk(A)
    chat.submit("hello")
    sent = chat.on_event(Ready(A, "cpu", "f32", 1, 1, 0.1))
    assert any(isinstance(update, Issue) for update in sent)


def test_a_revision_is_only_for_the_model_it_was_set_for() -> None:
    argv = ["python", "--model", "org/a", "--db", "x", "stdio"]
    assert with_model(argv, "org/a", revision=True) == argv
    assert with_model(argv, "org/b", revision=False) == ["python", "--model", "org/b", "--db", "x", "stdio"]
    with_empty = ["python", "--model", "org/b", "--set", "load.revision=", "--db", "x", "stdio"]
    assert with_model(argv, "org/b", revision=True) == with_empty


async def test_what_can_be_chosen(tmp_path: Path) -> None:
    shelve(tmp_path, OTHER, "org/third")
    stock = Stock(tmp_path / "models", tmp_path / "hub")
    third = (await stock.offers("", "", "x"))[2].nbytes
    own = write_folder(tmp_path / "own")
    assert await stock.offers("own", str(own), OTHER) == [
        Offer(str(own), third - 100_000, own=True),
        Offer(OTHER, third - 100_000, loaded=True),
        Offer("org/third", third),
    ]
    assert [offer.spec for offer in await stock.offers("gone", "/no/such", "x")] == ["x", OTHER, "org/third"]
    assert (await stock.offers(OTHER, "", "x"))[0] == Offer(OTHER, third - 100_000, own=True)
    assert await stock.has("SmolLM2-135M-Instruct", "")
    assert not await stock.has("gpt-4o", "")


def link_to(model: str, folder: Path) -> Link:
    def client_for(model: str) -> WorkerClient:
        return WorkerClient([sys.executable, "-c", WORKER, model], log_file=folder / "log")

    return Link(client_for, model)


async def story(link: Link) -> AsyncIterator[object]:
    """What becomes of the worker: starts, ends, and which model is ready."""
    async for item in link.news():
        if isinstance(item, Started | Left | Died):
            yield item
        elif isinstance(item, Ready):
            yield item.model


async def test_the_worker_is_changed_and_comes_back_where_the_other_cannot_be_loaded(tmp_path: Path) -> None:
    link = link_to(A, tmp_path)
    news = story(link)

    async def heard(n: int) -> list[object]:
        return [await asyncio.wait_for(anext(news), 20) for _ in range(n)]

    assert await heard(2) == [Started(), A]
    changing = asyncio.create_task(link.change(B))
    assert await heard(3) == [Left(), Started(), B]
    await changing
    changing = asyncio.create_task(link.change("bad"))
    bad = Died("exit code 1: no such thing", final=False, unloadable="bad")
    assert await heard(5) == [Left(), Started(), bad, Started(), B]
    await changing
    assert (link.model, link.given_up) == (B, False)
    await link.close()


async def test_a_model_chosen_after_giving_up_is_loaded(tmp_path: Path) -> None:
    link = link_to("bad", tmp_path)
    news = story(link)
    ends = [await asyncio.wait_for(anext(news), 20) for _ in range(6)]
    assert ends[-1] == Died("exit code 1: no such thing", final=True)
    assert link.given_up
    changing = asyncio.create_task(link.change(A))
    assert [await asyncio.wait_for(anext(news), 20) for _ in range(2)] == [Started(), A]
    await changing
    await link.close()


async def test_the_first_model_can_be_changed_before_anything_runs(tmp_path: Path) -> None:
    link = link_to(A, tmp_path)
    await link.change(B)
    news = story(link)
    assert [await asyncio.wait_for(anext(news), 20) for _ in range(2)] == [Started(), B]
    await link.close()
