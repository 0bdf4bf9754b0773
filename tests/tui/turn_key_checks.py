"""One check for every key of a marked turn and of the line that finds words."""

from __future__ import annotations

from textual.pilot import Pilot

from chatkv.tui.widgets.find_bar import FindBar
from chatkv.tui.widgets.talk.thoughts import Thoughts
from chatkv.tui.widgets.talk.turn import TurnView
from tui.driving import chat_of, composer, idle, say, sees, shown, states, transcript, until
from tui.key_checks import checks


async def marked(pilot: Pilot[None], turn: int) -> None:
    """Mark a turn by its number."""
    while not (view := marked_view(pilot)) or view.exchange.turn != turn:
        await pilot.press("ctrl+up")
        await pilot.pause()
    await until(pilot, lambda: pilot.app.focused is marked_view(pilot))


def marked_view(pilot: Pilot[None]) -> TurnView | None:
    return next((view for view in transcript(pilot).query(TurnView) if view.has_class("-marked")), None)


@checks("turn.edit")
async def edit_turn(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "second")
    await marked(pilot, 1)
    await pilot.press(key)
    await sees(pilot, "editing turn 1")
    assert composer(pilot).message == "hello"
    assert pilot.app.focused is composer(pilot)


@checks("turn.regenerate")
async def answer_again(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "second")
    await marked(pilot, 1)
    await pilot.press(key)
    await idle(pilot)
    await sees(pilot, "Again: You said: hello", "‹ 2/2 › answers")
    assert states(pilot) == ["complete"]
    await pilot.press("f8")
    await sees(pilot, "‹ 1/2 › answers", "You said: second")


@checks("turn.fork")
async def fork_turn(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "second")
    await marked(pilot, 1)
    await pilot.press(key)
    await until(pilot, lambda: states(pilot) == ["complete"])


@checks("turn.pin")
async def pin(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "second")
    await marked(pilot, 1)
    await pilot.press(key)
    await sees(pilot, "◆ pinned · 1")
    await pilot.press(key)
    await until(pilot, lambda: "pinned" not in shown(pilot))


@checks("turn.extend")
async def extend_turn(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "long")
    await marked(pilot, 2)
    await pilot.press(key)
    await idle(pilot)
    assert chat_of(pilot).last_answer.endswith(" and the end.")


@checks("turn.copy_answer", "turn.copy_question", whole=True)
async def copy_turn(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "second")
    await marked(pilot, 1)
    await pilot.press("y")
    assert pilot.app.clipboard == "You said: hello"
    await pilot.press("q")
    assert pilot.app.clipboard == "hello"


@checks("turn.copy_code", *(f"turn.code_{n}" for n in range(1, 10)), whole=True)
async def copy_code(pilot: Pilot[None], key: str) -> None:
    blocks = [f"piece {n}\n  of code" for n in range(9)]
    await say(pilot, "echo\n" + "\n\n".join(f"```\n{block}\n```" for block in blocks))
    await marked(pilot, 2)
    for block in (*blocks, blocks[0]):
        await pilot.press("c")
        assert pilot.app.clipboard == block
    for n, block in enumerate(blocks):
        await pilot.press(str(n + 1))
        assert pilot.app.clipboard == block


@checks("turn.thoughts", "chat.thoughts", whole=True)
async def thoughts(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "think")
    await marked(pilot, 2)
    for wanted, folded in (("t", False), ("t", True), ("ctrl+t", False)):
        await pilot.press(wanted)
        await until(pilot, lambda: ("I shall think" in shown(pilot)) is not folded)  # noqa: B023
        assert [fold.collapsed for fold in transcript(pilot).query(Thoughts)] == [folded]
    await pilot.press("escape")
    await say(pilot, "think")
    assert [fold.collapsed for fold in transcript(pilot).query(Thoughts)] == [False, False]
    await pilot.press("ctrl+t")
    await pilot.pause()
    assert [fold.collapsed for fold in transcript(pilot).query(Thoughts)] == [False, True]


@checks("turn.recalled")
async def recalled(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "remember")
    await marked(pilot, 2)
    await pilot.press(key)
    await sees(pilot, "The cat is called Miso.")
    await pilot.press(key)
    await until(pilot, lambda: "The cat is called Miso." not in shown(pilot))


@checks("turn.above", "turn.below", whole=True)
async def neighbours(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "second")
    await marked(pilot, 2)
    for wanted, turn in (("up", 1), ("up", 1), ("down", 2)):
        await pilot.press(wanted)
        await pilot.pause()
        view = marked_view(pilot)
        assert view is not None
        assert view.exchange.turn == turn
        assert pilot.app.focused is view
    await pilot.press("down")
    await until(pilot, lambda: pilot.app.focused is composer(pilot))
    assert marked_view(pilot) is None


@checks("chat.find", "find.next", "find.previous", "find.close", whole=True)
async def find(pilot: Pilot[None], key: str) -> None:
    for text in ("a kingfisher", "nothing", "KINGFISHER"):
        await say(pilot, text)
    await pilot.press("ctrl+f", *"Kíngfish")
    await sees(pilot, "1/4")
    for wanted, place, turn in (
        *(("enter", "2/4", 2), ("down", "3/4", 4), ("enter", "4/4", 4), ("enter", "1/4", 2)),
        *(("shift+enter", "4/4", 4), ("up", "3/4", 4)),
    ):
        await pilot.press(wanted)
        await sees(pilot, place)
        view = marked_view(pilot)
        assert view is not None
        assert view.exchange.turn == turn
    await pilot.press("escape")
    await until(pilot, lambda: pilot.app.focused is composer(pilot))
    assert not pilot.app.screen.query_one(FindBar).display
    assert marked_view(pilot) is view


@checks("turn.leave")
async def leave_turn(pilot: Pilot[None], key: str) -> None:
    await marked(pilot, 1)
    await pilot.press(key)
    await until(pilot, lambda: pilot.app.focused is composer(pilot))
    assert marked_view(pilot) is None
