"""What the conversation remembers beyond texts, without a screen: marks, recall, long messages, what may be lost."""

from __future__ import annotations

import pytest

from chatkv.protocol import (
    Accepted,
    Compact,
    Compaction,
    Edit,
    Error,
    Event,
    Keep,
    Kept,
    Marks,
    New,
    Opened,
    Pin,
    Recalled,
    RecalledRound,
    Send,
    Stop,
    Summarized,
    TurnMark,
)
from chatkv.tui.talk.conversation import Conversation
from chatkv.tui.talk.exchange import Choose, Found, GiveBack, Recollection, Remark, Say, Summed
from chatkv.tui.talk.telling import divider, named, recollection, spans, told
from tui.test_conversation import answered, commands, returned, started, turn

ROUNDS = (RecalledRound(3, 5, "The cat is Miso."), RecalledRound(0, 0, "A page.", "log.txt"))
LONG = Error("9,000 tokens, room for 2,912.", "", "send", "long", ("head", "document"))


def marked(*marks: str) -> Marks:
    """Turns 1, 2, … whose user messages are 1, 3, …"""
    return Marks(tuple(TurnMark(n + 1, 2 * n + 1, mark) for n, mark in enumerate(marks)))  # type: ignore[arg-type]


def talked(n_turns: int) -> Conversation:
    """A conversation of so many turns."""
    chat = started()
    for n in range(n_turns):
        answered(chat, f"say {n + 1}", 2 * n + 2)
    return chat


def test_marks_are_written_on_the_turns_and_change_with_the_next() -> None:
    chat = talked(4)
    marks = marked("summarized", "pinned", "summarized", "verbatim")
    assert chat.on_event(marks) == [Remark()]
    assert [turn.mark for turn in chat.board.turns] == ["summarized", "pinned", "summarized", "verbatim"]
    assert [turn.turn for turn in chat.board.turns] == [1, 2, 3, 4]
    assert [bool(turn.divider) for turn in chat.board.turns] == [False, False, True, False]
    chat.on_event(marked("verbatim", "verbatim", "verbatim", "verbatim"))
    assert {turn.mark for turn in chat.board.turns} == {"verbatim"}
    assert not any(turn.divider for turn in chat.board.turns)


def test_marks_outlive_a_turn_that_leaves_no_trace() -> None:
    chat = talked(2)
    chat.submit("third")
    chat.on_event(Accepted(3, 5, 6, "third"))
    chat.on_event(marked("summarized", "verbatim"))
    chat.on_event(turn(6, "cancelled", 0))
    assert [turn.mark for turn in chat.board.turns] == ["summarized", "verbatim"]
    assert "turn 1 is summarized" in chat.board.turns[0].divider


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        (("verbatim", "pinned"), ""),
        (("summarized", "verbatim"), "▼ turn 1 is summarized · /summary"),
        (("archived", "archived", "pinned"), "▼ turns 1–2 are archived · /recall"),
        (("archived", "summarized"), "▼ turn 1 is archived, turn 2 is summarized · /summary"),
    ],
)
def test_the_divider_says_what_left_the_context(marks: tuple[str, ...], words: str) -> None:
    where = divider(marked(*marks))
    assert (where[1] if where else "") == words


def test_turns_are_named_in_few_words() -> None:
    assert spans([4, 1, 2, 2, 3, 6, 9, 10]) == "1–4, 6, 9–10"
    assert (named([3]), named([]), named([1, 2])) == ("turn 3", "old turns", "turns 1–2")


def test_what_is_recalled_stands_with_the_turn_that_it_was_recalled_for() -> None:
    chat = talked(1)
    chat.submit("who is the cat")
    chat.on_event(Accepted(2, 3, 4, "who is the cat"))
    chat.on_event(Recalled(2, 41, 0.01, ROUNDS))
    text = "▸ turns 3–5\nThe cat is Miso.\n\n▸ log.txt\nA page."
    kept = chat.board.turns[-1].recalled
    assert kept == Recollection("recalled 1 round and 1 passage · 41 tokens", text)
    chat.on_event(turn(4))
    assert chat.board.turns[-1].recalled == kept
    assert chat.board.turns[0].recalled is None


def test_what_is_found_by_hand_waits_for_the_next_message_and_goes_with_it() -> None:
    chat = talked(1)
    event = Recalled(2, 41, 0.01, ROUNDS, by_hand=True)
    assert chat.on_event(event) == [Found(recollection(event))]
    assert not [turn for turn in chat.board.turns if turn.recalled]
    chat.submit("and?")
    updates = chat.on_event(Accepted(2, 3, 4, "and?"))
    assert Found(None) in updates
    assert chat.board.turns[-1].recalled == recollection(event)
    chat.on_event(turn(4))
    answered(chat, "more", 6)
    assert chat.board.turns[-1].recalled is None


def test_what_was_found_by_hand_is_told_again_when_it_goes_along() -> None:
    chat = talked(1)
    chat.on_event(Recalled(2, 41, 0.01, ROUNDS, by_hand=True))
    chat.submit("and?")
    chat.on_event(Accepted(2, 3, 4, "and?"))
    chat.on_event(Recalled(2, 30, 0.01, ROUNDS[:1], by_hand=True))
    assert chat.board.turns[-1].recalled == recollection(Recalled(2, 30, 0.01, ROUNDS[:1]))
    asked_meanwhile = Recalled(3, 41, 0.01, ROUNDS, by_hand=True)
    assert chat.on_event(asked_meanwhile) == [Found(recollection(asked_meanwhile))]
    assert chat.board.turns[-1].recalled != recollection(asked_meanwhile)


def test_what_is_found_by_hand_does_not_go_into_another_session() -> None:
    chat = talked(1)
    chat.on_event(Recalled(2, 41, 0.01, ROUNDS, by_hand=True))
    assert Found(None) in chat.start_new()
    chat.on_event(Opened("", "", "m"))
    answered(chat, "fresh", 4)
    assert chat.board.turns[-1].recalled is None


def test_a_message_that_is_too_long_waits_for_a_choice_and_can_be_cut() -> None:
    chat = started()
    chat.submit("long")
    updates = chat.on_event(LONG)
    assert Choose("long", LONG.message, ("head", "document")) in updates
    assert returned(updates) == []
    assert commands(chat.submit("long", head_only=True)) == [Send("long", overlong="head")]


def test_the_head_of_a_message_is_still_only_the_head_after_waiting() -> None:
    chat = started()
    chat.submit("first")
    chat.submit("long", head_only=True)
    chat.on_event(Accepted(1, 1, 2, "first"))
    assert commands(chat.on_event(turn(2))) == [Send("long", overlong="head")]


def test_an_edit_that_is_too_long_is_never_sent_as_a_new_message() -> None:
    chat = talked(1)
    chat.edit()
    assert commands(chat.submit("long")) == [Edit(1, "long")]
    updates = chat.on_event(Error("too long", "", "edit", "long", ("head", "document")))
    assert [update.choices for update in updates if isinstance(update, Choose)] == [("document",)]
    assert [exchange.prompt for exchange in chat.board.turns] == ["say 1"]


@pytest.mark.parametrize(
    ("event", "back"),
    [
        (Kept(1, "", 10, 2), []),
        (Error("disk full", "", "keep"), ["//help me"]),
        (None, ["//help me"]),
    ],
)
def test_a_text_to_keep_comes_back_unless_it_was_kept(event: Event | None, back: list[str]) -> None:
    chat = started()
    assert commands(chat.order(Keep("/help me"), "//help me")) == [Keep("/help me")]
    assert returned(chat.on_event(event) if event else chat.on_death()) == back
    assert returned(chat.on_death()) == []


def test_a_message_like_a_command_comes_back_as_one_types_it() -> None:
    chat = started()
    chat.submit("/help")
    assert returned(chat.on_event(Error("no", "", "send", "/help"))) == ["//help"]


def test_a_command_needs_a_worker_and_says_when_it_waits() -> None:
    chat = Conversation()
    updates = chat.order(Pin(1), "/pin 1")
    assert (commands(updates), returned(updates)) == ([], ["/pin 1"])
    chat = started()
    chat.submit("hi")
    updates = chat.order(Compact(), "/compact")
    assert commands(updates) == [Compact()]
    assert any(isinstance(update, Say) and "waits" in update.text for update in updates)


def test_a_compaction_that_was_asked_for_can_be_stopped() -> None:
    chat = talked(1)
    for reason, stops in (("idle", []), ("asked", [Stop()])):
        chat.on_event(Compaction("summarizing", reason, (1,)))  # type: ignore[arg-type]
        assert commands(chat.stop()) == stops
    chat.on_event(Compaction("given_up", "asked", (1,)))
    assert commands(chat.stop()) == []
    chat.on_event(Compaction("summarizing", "asked", (1,)))
    chat.on_event(Error("out of memory", "", "compact"))
    assert commands(chat.stop()) == []


def test_a_summary_that_cannot_be_carried_leaves_a_new_session_all_the_same() -> None:
    chat = talked(1)
    assert commands(chat.start_new(carry=True)) == [New(carry=True)]
    assert commands(chat.on_event(Error("nothing to carry", "", "new"))) == [New()]
    assert commands(chat.on_event(Error("database locked", "", "new"))) == []


def test_the_newest_summary_is_known() -> None:
    chat = talked(1)
    assert chat.on_event(Summarized("They met.", (1,))) == [Summed(Summarized("They met.", (1,)))]
    assert chat.memory.summary.text == "They met."
    chat.start_new()
    assert chat.memory.summary.text == ""


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Compaction("planned", "full", (2, 3)), ("turns 2–3 will be summarized", "/pin 2")),
        (
            Compaction("done", "full", (1, 2), origin="extract", tokens_before=3412, tokens_after=1204),
            ("Compacted turns 1–2: 3,412 → 1,204 tokens", "prefilled again", "their sentences"),
        ),
        (
            Compaction("done", "full", (1,), origin="model", method="rotated", total_s=2.1),
            ("rotated", "2.10 s"),
        ),
        (Compaction("given_up", "asked", (1,)), ("Turn 1 could not be compacted",)),
        (Compaction("undone", "asked", (1, 2)), ("taken back", "Turns 1–2 stand word for word again")),
        (Compaction("undone", "asked"), ("taken back.",)),
        (Kept(1, "a.txt", 12_000, 40), ("a.txt", "12,000 tokens in 40 passages")),
        (Recalled(1, 0, 0.0, by_hand=True), ("Nothing in the archive",)),
    ],
)
def test_events_of_memory_are_told(event: Event, words: tuple[str, ...]) -> None:
    said = told(event)
    assert said is not None
    assert [word for word in words if word not in said.text] == []


def test_progress_and_empty_recalls_are_not_told() -> None:
    assert told(Compaction("summarizing", "idle", (1,), 3, 9)) is None
    assert told(Recalled(1, 0, 0.0)) is None
    assert GiveBack("") not in talked(1).on_event(Recalled(1, 0, 0.0))
