"""What can be done with one turn, without a screen and without a worker: answered again, pinned."""

from __future__ import annotations

from chatkv.protocol import Accepted, Delta, Marks, Pin, Regenerate, TurnMark, Unpin
from chatkv.tui.talk.exchange import Rebuild, Say
from tui.test_conversation import answered, commands, started, turn


def test_an_earlier_question_is_answered_again_and_what_followed_comes_back_if_that_is_cancelled() -> None:
    chat = started()
    for n, text in enumerate(("one", "two", "three"), start=1):
        answered(chat, text, 2 * n)
    chat.branches.step(-2)
    updates = chat.regenerate()
    assert commands(updates) == [Regenerate(message_id=3)]
    assert Rebuild() in updates
    assert [exchange.prompt for exchange in chat.board.turns] == ["one", "two"]
    assert chat.branches.marked is None
    chat.on_event(Accepted(2, 3, 9, "two"))
    chat.on_event(turn(9, "cancelled", 0))
    assert [exchange.answer for exchange in chat.board.turns] == ["re: one", "re: two", "re: three"]
    chat.branches.step(-2)
    chat.regenerate()
    chat.on_event(Accepted(2, 3, 10, "two"))
    chat.on_event(Delta(10, "other"))
    chat.on_event(turn(10))
    assert [exchange.answer for exchange in chat.board.turns] == ["re: one", "other"]
    assert commands(chat.regenerate()) == [Regenerate()]


def test_the_marked_turn_is_pinned_and_unpinned() -> None:
    chat = started()
    assert isinstance(chat.pin()[0], Say)
    answered(chat, "one", 2)
    assert commands(chat.pin()) == [Pin(1)]
    chat.on_event(Marks((TurnMark(1, 1, "pinned"),)))
    assert commands(chat.pin()) == [Unpin(1)]
    chat.submit("two")
    assert commands(chat.pin()) == [], "a turn that has not begun has no number"
    chat.on_death()
    assert commands(chat.pin()) == []
