"""The conversation's state: every way a turn can go, without a screen and without a worker."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.protocol import (
    Accepted,
    Continue,
    Delta,
    Edit,
    Error,
    Finish,
    New,
    Open,
    Opened,
    Ready,
    Regenerate,
    Send,
    Stop,
    Thought,
    Turn,
)
from chatkv.tui.talk.conversation import Conversation
from chatkv.tui.talk.exchange import Exchange, GiveBack, Issue, Rebuild, Reload, Say, Show, Stream, Update

READY = Ready("m", "cpu", "bfloat16", 8192, 1, 1.0)


def turn(answer_id: int, finish: Finish = "stop", decoded: int = 5) -> Turn:
    return Turn(1, answer_id - 1, answer_id, finish, 0, 9, 0, decoded, 0, 0.1, 0.1, 1, 1, 1, 1)


def started() -> Conversation:
    """A conversation with a worker that is ready, in a new session."""
    chat = Conversation()
    chat.on_restart()
    chat.on_event(READY)
    chat.on_event(Opened("", "", "m"))
    return chat


def answered(chat: Conversation, text: str, answer_id: int, finish: Finish = "stop") -> None:
    chat.submit(text)
    chat.on_event(Accepted(1, answer_id - 1, answer_id, text))
    chat.on_event(Delta(answer_id, f"re: {text}"))
    chat.on_event(turn(answer_id, finish))


def commands(updates: list[Update]) -> list[object]:
    return [update.command for update in updates if isinstance(update, Issue)]


def returned(updates: list[Update]) -> list[str]:
    return [update.text for update in updates if isinstance(update, GiveBack)]


def states(chat: Conversation) -> list[str]:
    return [exchange.state for exchange in chat.board.exchanges]


def test_a_prompt_waits_for_the_model_and_then_goes() -> None:
    chat = Conversation()
    assert commands(chat.submit("hi")) == []
    assert states(chat) == ["queued"]
    assert commands(chat.on_event(READY)) == [Send("hi")]
    assert states(chat) == ["waiting"]


def test_a_turn_from_enter_to_its_end() -> None:
    chat = started()
    assert commands(chat.submit("hi")) == [Send("hi")]
    chat.on_event(Opened("abc", "hi", "m"))
    chat.on_event(Accepted(1, 1, 2, "hi"))
    assert chat.on_event(Thought(2, "hm")) == [Stream(1, "hm", thought=True)]
    assert chat.on_event(Delta(2, "yo")) == [Stream(1, "yo")]
    assert chat.on_event(turn(2)) == [Show(Exchange(1, "hi", "yo", "hm", "complete", "", 1, 2, 1))]
    assert (chat.session, chat.title, chat.busy) == ("abc", "hi", False)


def test_only_one_turn_is_in_flight_and_the_next_follows() -> None:
    chat = started()
    chat.submit("one")
    assert commands(chat.submit("two")) == []
    chat.on_event(Accepted(1, 1, 2, "one"))
    assert commands(chat.on_event(turn(2))) == [Send("two")]


def test_stop_takes_the_queue_back_in_order() -> None:
    chat = started()
    for text in ("one", "two", "three"):
        chat.submit(text)
    updates = chat.stop()
    assert commands(updates) == [Stop()]
    assert returned(updates) == ["two\n\nthree"]
    assert states(chat) == ["waiting"]


def test_stopped_before_the_first_token_leaves_no_trace() -> None:
    chat = started()
    answered(chat, "one", 2)
    chat.submit("two")
    chat.on_event(Accepted(2, 3, 4, "two"))
    updates = chat.on_event(turn(4, "cancelled", 0))
    assert returned(updates) == ["two"]
    assert Rebuild() in updates
    assert [exchange.prompt for exchange in chat.board.exchanges] == ["one"]


def test_stopped_later_keeps_the_text() -> None:
    chat = started()
    chat.submit("one")
    chat.on_event(Accepted(1, 1, 2, "one"))
    chat.on_event(Delta(2, "half"))
    assert returned(chat.on_event(turn(2, "cancelled", 3))) == []
    assert states(chat) == ["stopped"]


def test_a_refused_message_comes_back_with_what_waited() -> None:
    chat = started()
    chat.submit("big")
    chat.submit("next")
    updates = chat.on_event(Error("too big", "shorten it", "send", "big"))
    assert returned(updates) == ["big\n\nnext"]
    assert Say("too big shorten it", "error") in updates
    assert not chat.busy


def test_an_error_within_a_turn_is_shown_beside_it_in_either_order() -> None:
    for events in (
        (Error("oom", "", "send"), turn(2, "error")),
        (turn(2, "error"), Error("oom", "", "send")),
    ):
        chat = started()
        chat.submit("hi")
        chat.on_event(Accepted(1, 1, 2, "hi"))
        for event in events:
            chat.on_event(event)
        assert chat.board.last == Exchange(1, "hi", "", "", "error", "oom", 1, 2, 1)
        assert commands(chat.submit("again")) == [Send("again")]


def test_regenerate_replaces_the_answer_and_a_cancelled_one_brings_it_back() -> None:
    chat = started()
    answered(chat, "hi", 2)
    assert commands(chat.regenerate()) == [Regenerate()]
    chat.on_event(Accepted(1, 1, 3, "hi"))
    chat.on_event(turn(3, "cancelled", 0))
    assert chat.last_answer == "re: hi"
    chat.regenerate()
    chat.on_event(Accepted(1, 1, 4, "hi"))
    chat.on_event(Delta(4, "new"))
    chat.on_event(turn(4))
    assert chat.last_answer == "new"
    assert len(chat.board.turns) == 1


def test_continue_extends_only_a_cut_answer() -> None:
    chat = started()
    answered(chat, "hi", 2)
    assert commands(chat.extend()) == []
    answered(chat, "ho", 4, "length")
    assert commands(chat.extend()) == [Continue()]
    chat.on_event(Accepted(2, 3, 4, "ho"))
    chat.on_event(Delta(4, "!"))
    chat.on_event(turn(4))
    assert chat.last_answer == "re: ho!"


def test_edit_replaces_the_turn_and_what_followed() -> None:
    chat = started()
    answered(chat, "one", 2)
    answered(chat, "two", 4)
    assert chat.edit() == "two"
    assert commands(chat.submit("2")) == [Edit(3, "2")]
    assert [exchange.prompt for exchange in chat.board.turns] == ["one", "2"]
    chat.on_event(Accepted(2, 5, 6, "2"))
    assert returned(chat.on_event(turn(6, "cancelled", 0))) == ["2"]
    assert [exchange.prompt for exchange in chat.board.turns] == ["one", "two"]


def test_an_edit_that_cannot_be_sent_stays_an_edit() -> None:
    chat = started()
    answered(chat, "one", 2)
    chat.edit()
    chat.on_death()
    assert returned(chat.submit("1")) == ["1"]
    assert chat.editing == 1


def test_death_flags_what_was_shown_and_returns_what_was_not_taken() -> None:
    chat = started()
    chat.submit("one")
    chat.on_event(Accepted(1, 1, 2, "one"))
    chat.on_event(Delta(2, "ha"))
    chat.submit("two")
    updates = chat.on_death()
    assert returned(updates) == ["two"]
    assert states(chat) == ["partial"]
    chat = started()
    chat.submit("one")
    assert returned(chat.on_death()) == ["one"]
    assert states(chat) == []


def test_a_new_worker_is_led_back() -> None:
    chat = started()
    assert commands(chat.on_restart()) == [New()]
    answered(chat, "one", 2)
    chat.session = "abc"
    chat.on_death()
    assert commands(chat.on_restart()) == [Open("abc")]


def test_only_the_last_of_several_openings_counts() -> None:
    chat = started()
    chat.start_new()
    chat.show_session("b", "B", [Exchange(0, "x", user_id=1, answer_id=2)])
    assert chat.on_event(Opened("", "", "m")) == []
    assert chat.session == "b"
    assert chat.on_event(Opened("b", "B", "m", 2)) == []
    assert chat.on_event(Opened("c", "C", "m")) == [Reload("c")]


def test_a_session_that_cannot_be_opened_is_left_for_a_new_one() -> None:
    chat = started()
    chat.show_session("b", "B", [Exchange(0, "x", user_id=1, answer_id=2)])
    updates = chat.on_event(Error("open elsewhere", "", "open"))
    assert commands(updates) == [New()]
    assert Say("open elsewhere", "error") in updates
    assert chat.board.exchanges == ()


def test_text_of_another_turn_is_not_taken_for_this_one() -> None:
    chat = started()
    chat.submit("one")
    chat.on_event(Accepted(1, 1, 2, "one"))
    assert chat.on_event(Delta(99, "stray")) == []
    assert chat.on_event(turn(99)) == []
    assert chat.busy


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["send", "stop", "go", "token", "end", "cancel", "error", "die", "ready"])))
def test_no_prompt_is_ever_lost_or_doubled(script: list[str]) -> None:
    """Each prompt is at any time in exactly one place: on the board, or returned to the composer."""
    chat, back, n, answer_id = started(), [], 0, 100
    for act in script:
        updates: list[Update] = []
        if act == "send":
            n += 1
            updates = chat.submit(f"<{n}>")
        elif act == "stop":
            updates = chat.stop()
        elif act == "ready":
            updates = chat.on_event(READY)
        elif act == "die":
            updates = [*chat.on_death(), *chat.on_restart()]
        elif act == "go" and chat.busy and chat.board.turns[-1].user_id is None:
            answer_id += 2
            updates = chat.on_event(Accepted(1, answer_id - 1, answer_id, ""))
        elif act == "token":
            updates = chat.on_event(Delta(answer_id, "x"))
        elif act == "end":
            updates = chat.on_event(turn(answer_id))
        elif act == "cancel":
            updates = chat.on_event(turn(answer_id, "cancelled", 0))
        elif act == "error":
            updates = chat.on_event(Error("no", "", "send"))
        back += [prompt for text in returned(updates) for prompt in text.split("\n\n")]
        shown = [exchange.prompt for exchange in chat.board.exchanges]
        assert sorted(shown + back) == sorted(f"<{k}>" for k in range(1, n + 1))
        assert len(commands(updates)) <= 2
