"""One check for every key about a turn: mark it, go to another wording or answer, go on from it."""

from __future__ import annotations

from textual.pilot import Pilot

from tui.driving import chat_of, composer, idle, say, sees, shown, states, transcript, until
from tui.key_checks import checks


@checks("chat.mark_above", "chat.mark_below", whole=True)
async def mark_turns(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "second")
    branches, turns = chat_of(pilot).branches, chat_of(pilot).board.turns
    for above, below in (("ctrl+up", "ctrl+down"), ("alt+up", "alt+down")):
        for wanted, at in ((above, 1), (above, 0), (above, 0), (below, 1), (below, None)):
            await pilot.press(wanted)
            await pilot.pause()
            assert branches.marked == (None if at is None else turns[at].key)
            marked = [view.exchange.turn for view in transcript(pilot).query("TurnView.-marked")]  # type: ignore[attr-defined]
            assert marked == ([] if at is None else [at + 1])
    await pilot.press("ctrl+up", "escape")
    assert branches.marked is None


@checks("chat.answer_before", "chat.answer_after", whole=True)
async def other_answers(pilot: Pilot[None], key: str) -> None:
    await pilot.press("ctrl+r")
    await idle(pilot)
    await say(pilot, "then")
    await sees(pilot, "‹ 2/2 › answers", "Again: You said: hello")
    await pilot.press("f8")
    await sees(pilot, "‹ 1/2 › answers · F8 F9")
    assert (chat_of(pilot).last_answer, states(pilot)) == ("You said: hello", ["complete"])
    await pilot.press("f8")
    await sees(pilot, "This is the first answer")
    await pilot.press("f9")
    await sees(pilot, "‹ 2/2 › answers", "You said: then")
    assert states(pilot) == ["complete", "complete"]


@checks("chat.wording_before", "chat.wording_after", whole=True)
async def other_wordings(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "then")
    await pilot.press("ctrl+up", "ctrl+up", "f3")
    await sees(pilot, "editing turn 1")
    assert composer(pilot).message == "hello"
    await pilot.press("!", "enter")
    await idle(pilot)
    await sees(pilot, "‹ 2/2 › wordings · F6 F7", "You said: hello!")
    await pilot.press("f6")
    await sees(pilot, "‹ 1/2 › wordings", "You said: then")
    await pilot.press("f7")
    await sees(pilot, "‹ 2/2 › wordings")
    await until(pilot, lambda: "then" not in shown(pilot))


@checks("chat.fork")
async def fork(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "second")
    await pilot.press(key)
    await sees(pilot, "Mark the turn to go on from first")
    await pilot.press("ctrl+up", "ctrl+up", key)
    await until(pilot, lambda: states(pilot) == ["complete"])
    await say(pilot, "another second")
    await sees(pilot, "‹ 2/2 › wordings", "You said: another second")
