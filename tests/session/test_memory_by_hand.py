"""What a person asks of memory: pins, the summary, the budget, documents, looking things up; and that it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from talk import Talk, countdown
from tiny import reference_model, tiny_loaded

from chatkv.config import MemoryConfig
from chatkv.errors import ContextFullError, UsageError
from chatkv.protocol import Compaction, Kept, Marks, Recalled, Summarized


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    memory = MemoryConfig("256 KiB", recall_tokens=256)
    talk = Talk(tiny_loaded("llama"), tmp_path / "t.db", reference=reference_model("llama"), memory=memory)
    for n in range(8):
        talk.say(f"Fact {n}: the harbour of Lisbon has {n * 37} boats in it.", 4)
    return talk


def compact(talk: Talk) -> None:
    talk.do(talk.session.upkeep.compact("", countdown(None)))


def marks(talk: Talk) -> dict[int, str]:
    return {mark.turn: mark.mark for mark in talk.session.context.marks().turns}


def seen(talk: Talk) -> str:
    return talk.runtime.codec.decode(talk.session.upkeep.planner.stable.ids)


def test_a_pinned_turn_stays_word_for_word_through_compactions_and_restarts(talk: Talk) -> None:
    talk.do(talk.session.memory.pin(3, pinned=True))
    compact(talk)
    assert marks(talk)[3] == "pinned"
    assert "Fact 2: the harbour" in seen(talk)
    talk.idle()
    talk.say("And?", 4)
    talk.resume(fresh_engine=True)
    assert marks(talk)[3] == "pinned"
    assert "Fact 2: the harbour" in seen(talk)
    talk.say("And then?", 4)


def test_a_turn_unpinned_later_stays_until_the_next_compaction_takes_it_in(talk: Talk) -> None:
    talk.do(talk.session.memory.pin(3, pinned=True))
    compact(talk)
    talk.do(talk.session.memory.pin(3, pinned=False))
    assert marks(talk)[3] == "verbatim"
    for n in range(3):
        talk.say(f"More {n}", 4)
    compact(talk)
    assert marks(talk)[3] == "summarized"


def test_pinning_a_turn_that_went_brings_it_back(talk: Talk) -> None:
    compact(talk)
    assert "Fact 1: the harbour of Lisbon has 37" not in seen(talk).replace(
        talk.session.memory.summarized().text, ""
    )
    talk.do(talk.session.memory.pin(2, pinned=True))
    assert "Fact 1: the harbour of Lisbon has 37 boats" in seen(talk)
    talk.idle()
    talk.say("And?", 4)


def test_pins_that_leave_no_room_are_refused_with_counts(talk: Talk) -> None:
    for turn in range(1, 5):
        talk.do(talk.session.memory.pin(turn, pinned=True))
    with pytest.raises(UsageError, match=r"would take [\d,]+ tokens; they may take [\d,]+"):
        list(talk.session.memory.pin(5, pinned=True))
    with pytest.raises(UsageError, match="no turn 99"):
        list(talk.session.memory.pin(99, pinned=True))


def test_an_edited_summary_is_what_the_model_sees_and_survives_later_compactions(talk: Talk) -> None:
    with pytest.raises(UsageError, match="no summary"):
        talk.do(talk.session.memory.rewrite("mine"))
    compact(talk)
    talk.do(talk.session.memory.rewrite("The owner is Zoë."))
    assert "The owner is Zoë." in seen(talk)
    talk.idle()
    for n in range(6):
        talk.say(f"Later {n}: the tower has {n * 11} steps.", 4)
    compact(talk)
    after = talk.session.memory.summarized()
    assert after.text.startswith("The owner is Zoë.")
    assert after.edited
    talk.resume(fresh_engine=True)
    assert "The owner is Zoë." in seen(talk)


def test_a_summary_that_is_too_long_is_refused_and_the_old_one_stays(talk: Talk) -> None:
    compact(talk)
    before = talk.session.memory.summarized()
    with pytest.raises(UsageError, match=r"would be [\d,]+ tokens; it may be"):
        talk.do(talk.session.memory.rewrite("word " * 500))
    assert talk.session.memory.summarized() == before


def test_undo_brings_the_turns_back_one_step_at_a_time(talk: Talk) -> None:
    compact(talk)
    talk.do(talk.session.memory.rewrite("short"))
    talk.do(talk.session.memory.undo())
    assert isinstance(talk.events[0], Compaction)
    assert talk.session.memory.summarized().text != "short"
    talk.do(talk.session.memory.undo())
    assert next(event for event in talk.events if isinstance(event, Summarized)).text == ""
    assert set(marks(talk).values()) == {"verbatim"}
    with pytest.raises(UsageError):
        talk.do(talk.session.memory.undo())
    talk.idle()
    talk.say("All there?", 4)


def test_a_fork_to_before_the_summary_sees_the_turns_themselves(talk: Talk) -> None:
    compact(talk)
    third = [message for message in talk.path if message.role == "assistant"][2]
    talk.fork(third.id)
    assert marks(talk) == {1: "verbatim", 2: "verbatim", 3: "verbatim"}
    talk.say("Another way", 4)
    assert set(marks(talk).values()) == {"verbatim"}


def test_a_smaller_budget_takes_effect_at_once_and_a_larger_one_too(talk: Talk) -> None:
    talk.idle()
    before = talk.runtime.engine.cache.reserved_bytes
    talk.set("memory.budget", "100 KiB")
    talk.say("Does it still fit?", 4)
    assert talk.runtime.engine.cache.reserved_bytes <= 100 * 1024 < before
    assert {"summarized", "archived"} & set(marks(talk).values())
    talk.set("memory.budget", "1 MiB")
    talk.idle()
    talk.say("And now?", 4)


def test_nothing_to_compact_is_said(tmp_path: Path) -> None:
    talk = Talk(tiny_loaded("llama"), tmp_path / "n.db")
    talk.say("one", 2)
    with pytest.raises(UsageError, match="nothing to compact"):
        talk.do(talk.session.upkeep.compact("", countdown(None)))


def test_a_message_that_cannot_fit_comes_back_with_counts_and_choices(talk: Talk) -> None:
    path, long = talk.path, "the word " * 900
    with pytest.raises(ContextFullError, match=r"is [\d,]+ tokens; the memory budget holds") as caught:
        talk.say(long)
    assert caught.value.choices == ("head", "document")
    assert talk.path == path
    head = talk.session.head_of(long)
    assert long.startswith(head)
    assert len(head) > 100
    assert talk.say(head, 4).finish in ("stop", "length", "context")


def test_a_document_is_kept_and_recalled_in_passages(talk: Talk) -> None:
    text = "\n\n".join(f"Chapter {n}. The walrus number {n} eats {n * 3} fish a day." for n in range(60))
    talk.do(talk.session.keep(text, "walruses"))
    kept = next(event for event in talk.events if isinstance(event, Kept))
    assert (kept.name, kept.tokens) == ("walruses", talk.runtime.codec.count(text))
    assert kept.passages > 3
    talk.say("How many fish does walrus 41 eat?", 4)
    found = next(event for event in talk.events if isinstance(event, Recalled))
    assert any(
        "number 41 eats 123 fish" in round.text and round.document == "walruses" for round in found.rounds
    )
    assert 0 < found.tokens <= talk.session.upkeep.planner.room.recall
    talk.resume(fresh_engine=True)
    talk.say("And walrus 52?", 4)
    assert any(isinstance(event, Recalled) for event in talk.events)


def test_what_was_recalled_is_counted_in_the_turn_and_leaves_the_kv_after_it(talk: Talk) -> None:
    compact(talk)
    talk.idle()
    turn = talk.say("How many boats are there in Fact 2?", 4)
    found = next(event for event in talk.events if isinstance(event, Recalled))
    assert turn.recalled >= found.tokens - 3
    owners = {segment.kind for segment in talk.runtime.engine.ledger.segments}
    assert "recalled" in owners
    settled = len(talk.session.upkeep.planner.stable.ids)
    talk.idle()
    assert "recalled" not in {segment.kind for segment in talk.runtime.engine.ledger.segments}
    assert len(talk.runtime.engine.ledger) == settled
    talk.regenerate(4)
    assert talk.path[-2].recalled == found.rounds[0].text or found.rounds[0].text in talk.path[-2].recalled
    talk.say("And?", 4)


def test_recall_never_brings_what_stands_in_the_context(talk: Talk) -> None:
    compact(talk)
    talk.say("How many boats are there in Fact 7 of the harbour?", 4)
    here = {round.turn for round in talk.session.context.in_context()}
    for event in talk.events:
        if isinstance(event, Recalled):
            assert all(here.isdisjoint(range(found.first, found.last + 1)) for found in event.rounds)


def test_recall_by_hand_goes_along_with_the_next_message_and_can_be_off(talk: Talk) -> None:
    compact(talk)
    talk.set("memory.recall", value=False)
    talk.say("How many boats in Fact 2?", 4)
    assert not any(isinstance(event, Recalled) for event in talk.events)
    shown = talk.session.look_up("Fact 3 boats")
    assert shown.by_hand
    assert any("111 boats" in found.text for found in shown.rounds)
    talk.say("So?", 4)
    sent = next(event for event in talk.events if isinstance(event, Recalled))
    assert sent.by_hand
    assert "111 boats" in talk.path[-2].recalled


def test_a_session_carries_its_summary_into_the_next(talk: Talk) -> None:
    compact(talk)
    system = talk.session.carried("be kind")
    assert system.startswith("be kind\n\nSummary of an earlier conversation:\n")
    assert "boats" in system


def test_every_turn_has_a_mark(talk: Talk) -> None:
    compact(talk)
    told = next(event for event in talk.events if isinstance(event, Marks))
    assert [mark.turn for mark in told.turns] == list(range(1, 9))
