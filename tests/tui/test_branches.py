"""Branches on the screen: which wording and answer of how many, and the ways to the others."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.protocol import Error, Fork, Open, Opened, Ready, Send, Switch
from chatkv.store import Store
from chatkv.tui.talk.branches import position, with_alternatives
from chatkv.tui.talk.conversation import Conversation
from chatkv.tui.talk.exchange import Exchange, Issue, Rebuild, Refresh, Say
from chatkv.tui.widgets.talk.switcher import Switcher
from tui.driving import (
    chat_of,
    idle,
    make_app,
    places,
    ready,
    say,
    sees,
    send,
    shown,
    states,
    streaming,
    transcript,
    until,
)

SIZE = (110, 32)


def forked(folder: Path) -> tuple[str, list[int]]:
    """A session whose first question has two wordings, the second of which has three answers and a turn below the
    first of them. The last answer is in use. Ids of the three answers."""
    with Store.open(places(folder).database) as store:
        session = store.create_session("tiny-echo", "forked")
        store.add_exchange(session.id, None, "first wording", 1, "tiny-echo")
        user, one = store.add_exchange(session.id, None, "second wording", 1, "tiny-echo")
        below = store.add_exchange(session.id, one.id, "below one", 2, "tiny-echo")[1]
        others = [
            store.add_message(session.id, user.id, "assistant", "", turn=1, status="streaming").id
            for _ in range(2)
        ]
        answers = [one.id, *others]
        for n, answer in enumerate([*answers, below.id]):
            store.update_answer(
                answer, text=f"answer no {n}", thought="", ids=(), answer_start=0, status="complete"
            )
        return session.id, answers


async def test_alternatives_are_on_screen_before_the_model_is_loaded(tmp_path: Path) -> None:
    forked(tmp_path)
    async with make_app(tmp_path, "--hold", resume="last").run_test(size=SIZE) as pilot:
        await sees(pilot, "answer no 2", "‹ 2/2 › wordings", "‹ 3/3 › answers")
        await pilot.press("f8")
        await until(pilot, lambda: "not ready" in str([n.message for n in pilot.app._notifications]))


async def test_a_click_goes_back_or_on_and_brings_what_followed(tmp_path: Path) -> None:
    forked(tmp_path)
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await ready(pilot)
        for seen, column in (("‹ 2/3 ›", 0), ("‹ 1/3 ›", 0), ("‹ 2/3 ›", 6)):
            (switcher,) = (
                s for s in transcript(pilot).query(Switcher) if s._side == "answered" and s.display
            )
            await pilot.click(switcher, offset=(2 + column, 0))
            await sees(pilot, seen)
            await until(pilot, lambda: not chat_of(pilot).place.expecting)
            assert ("below one" in shown(pilot)) is (seen == "‹ 1/3 ›")


async def test_switching_is_refused_while_an_answer_runs_and_works_after_every_end(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        for prompt, state in (("hi", "complete"), ("slow one", "stopped"), ("error", "error")):
            await pilot.press("ctrl+n")
            await say(pilot, "first")
            await pilot.press("f3", "ctrl+a", "delete")
            await send(pilot, prompt)
            if state == "stopped":
                await streaming(pilot)
                await pilot.press("f6")
                await sees(pilot, "An answer is running")
                assert states(pilot) == ["streaming"]
                await pilot.press("escape")
            await idle(pilot)
            assert states(pilot) == [state]
            await pilot.press("f6")
            await sees(pilot, "‹ 1/2 › wordings", "You said: first")
            await until(pilot, lambda: not chat_of(pilot).place.expecting)
            await pilot.press("f7")
            await sees(pilot, "‹ 2/2 › wordings")
            await until(pilot, lambda: states(pilot) == [state])  # noqa: B023


async def test_a_branch_once_chosen_is_the_one_that_is_resumed(tmp_path: Path) -> None:
    _, answers = forked(tmp_path)
    async with make_app(tmp_path, resume="last").run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("f8")
        await sees(pilot, "‹ 2/3 ›", "answer no 1")
    with Store.open(places(tmp_path).database, read_only=True) as store:
        assert store.list_sessions()[0].leaf_id == answers[1]


def shown_chat() -> Conversation:
    """Two turns; the first question was answered twice."""
    chat = Conversation()
    chat.on_event(Ready("m", "cpu", "f32", 1, 1, 1.0))
    turns = [Exchange(0, "a", "b", user_id=1, answer_id=2, turn=1, answered=(2, 5))]
    chat.show_session("s", "S", [*turns, Exchange(0, "c", "d", user_id=3, answer_id=4, turn=2)])
    chat.on_event(Opened("s", "S", "m", 4))
    return chat


def test_a_switch_reads_the_new_branch_and_keeps_the_turn_in_sight() -> None:
    chat = shown_chat()
    assert chat.switch("answered", 1) == [Issue(Switch(5))]
    assert chat.on_event(Opened("s", "S", "m", 5)) == [Refresh()]
    key = chat.board.turns[0].key
    assert chat.refreshed([Exchange(0, "a", "B", user_id=1, answer_id=5, answered=(2, 5))]) == [Rebuild(key)]
    assert (chat.last_answer, chat.board.turns[0].turn) == ("B", 1)
    assert chat.switch("answered", 1) == [Say("This is the last answer to this question.")]


def test_what_is_said_on_the_way_to_another_branch_is_said_there() -> None:
    chat = shown_chat()
    chat.switch("answered", 1)
    assert not any(isinstance(update, Issue) for update in chat.submit("go on"))
    assert chat.on_event(Opened("s", "S", "m", 5)) == [Refresh()]
    updates = chat.refreshed([Exchange(0, "a", "B", user_id=1, answer_id=5, answered=(2, 5))])
    assert Issue(Send("go on")) in updates
    assert [turn.prompt for turn in chat.board.turns] == ["a", "go on"]


def test_a_new_worker_is_led_to_the_branch_that_was_wanted() -> None:
    chat = shown_chat()
    chat.switch("answered", 1)
    chat.on_death()
    assert chat.on_restart() == [Issue(Open("s")), Issue(Switch(5))]
    assert chat.on_event(Opened("s", "S", "m", 4)) == []
    assert chat.on_event(Opened("s", "S", "m", 5)) == [Refresh()]


def test_a_fork_needs_a_mark_and_a_turn_below() -> None:
    chat = shown_chat()
    assert isinstance(chat.fork()[0], Say)
    chat.branches.step(-1)
    assert chat.fork() == [Say("The conversation already ends here.")]
    chat.branches.step(-1)
    assert chat.fork() == [Issue(Fork(2))]


def test_a_switch_that_fails_leaves_the_screen_where_the_worker_is() -> None:
    chat = shown_chat()
    chat.switch("answered", 1)
    assert chat.on_event(Error("gone", "", "switch")) == [Say("gone", "error"), Refresh()]
    assert not chat.place.expecting


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=12))
def test_every_alternative_has_one_place_and_what_is_shown_is_among_them(
    grown: list[tuple[int, bool]],
) -> None:
    """A tree grown at random: on every branch, each message that has siblings stands among them."""
    parents: dict[int, int] = {}
    for n, (wanted, _) in enumerate(grown, start=1):
        parents[n] = wanted % n
    children: dict[int, list[int]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    groups = {parent: tuple(ids) for parent, ids in children.items() if len(ids) > 1}
    for leaf in parents:
        path = [leaf]
        while parents[path[0]]:
            path.insert(0, parents[path[0]])
        turns = [
            Exchange(n, "q", user_id=path[n], answer_id=path[n + 1] if n + 1 < len(path) else None)
            for n in range(0, len(path), 2)
        ]
        for turn in with_alternatives(turns, groups):
            for side, here in (("asked", turn.user_id), ("answered", turn.answer_id)):
                ids = getattr(turn, side)
                expected = f"‹ {ids.index(here) + 1}/{len(ids)} ›" if here in ids else ""
                assert position(turn, side) == expected  # type: ignore[arg-type]
                if here is not None:
                    assert (len(children[parents[here]]) > 1) is bool(expected)
