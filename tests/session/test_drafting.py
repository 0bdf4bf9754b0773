"""Prefill as you type: what is left to read at Enter, and what stays of a text that is not sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from drafts import idle, n_drafted, time_since_typing, write
from kept import LONG
from talk import ROOMY, Talk
from tiny import CONFIGS, reference_model, tiny_loaded

from chatkv.config import MemoryConfig
from chatkv.engine.local import LocalEngine, OutOfMemory
from chatkv.errors import ContextFullError
from chatkv.kv.blocks import BLOCK_TOKENS
from chatkv.protocol import Compaction, Drafted, Kv, Notice

TEXT = "the quick brown fox jumps over the lazy dog and 1,450 boats; " * 4
TIGHT = MemoryConfig("160 KiB", keep_turns=1)


def a_talk(tmp_path: Path, kind: str = "llama", memory: MemoryConfig = ROOMY) -> Talk:
    file, reference = tmp_path / "t.db", reference_model(kind)
    return Talk(tiny_loaded(kind), file, reference=reference, chunk=64, memory=memory)


@pytest.mark.parametrize("kind", CONFIGS)
def test_after_a_pause_one_token_is_left_to_read(kind: str, tmp_path: Path) -> None:
    talk = a_talk(tmp_path, kind)
    for text in (TEXT, "short", TEXT[::-1]):
        write(talk, text)
        early = n_drafted(talk)
        assert early >= talk.runtime.codec.count(text)
        turn = talk.say(text)
        assert turn.prefilled == 1
        assert turn.prefilled_early >= early
        assert turn.reused + turn.prefilled_early + 1 + turn.decoded == turn.kv_tokens
    assert not n_drafted(talk)


def test_what_is_typed_letter_by_letter_is_read_on_the_way(tmp_path: Path) -> None:
    talk = a_talk(tmp_path)
    talk.say("hello")
    for n in range(1, len(TEXT) + 1):
        write(talk, TEXT[:n], rest=False)
    turn = talk.say(TEXT)
    assert turn.prefilled < 30 < turn.prefilled_early
    assert talk.runtime.codec.count(TEXT) > 100


def test_a_letter_more_or_less_reads_only_what_changed(tmp_path: Path) -> None:
    talk = a_talk(tmp_path)
    fed: list[int] = []
    write(talk, TEXT)
    before = n_drafted(talk)
    feed = talk.runtime.engine.feed
    talk.runtime.engine.feed = lambda ids, *more: (fed.append(len(ids)), feed(ids, *more))[1]  # type: ignore[method-assign,func-returns-value]
    write(talk, TEXT + "x")
    write(talk, TEXT + "x, y")
    write(talk, TEXT[:-8])
    assert 0 < sum(fed) < 60 < before
    assert talk.say(TEXT[:-8]).prefilled == 1


def test_a_text_that_is_taken_back_leaves_the_kv_as_it_was(tmp_path: Path) -> None:
    talk = a_talk(tmp_path)
    talk.say("hello")
    idle(talk)
    ledger = talk.runtime.engine.ledger
    ids, segments, used = list(ledger.ids), ledger.segments, talk.runtime.kv_event().used_bytes
    write(talk, TEXT)
    assert [segment.kind for segment in ledger.segments][-1] == "draft"
    shown = [event for event in talk.events if isinstance(event, Kv)][-1]
    assert shown.segments[-1].kind == "draft"
    assert shown.segments[-1].tokens == n_drafted(talk) > 100
    write(talk, "")
    assert (list(ledger.ids), ledger.segments) == (ids, segments)
    assert talk.runtime.kv_event().used_bytes == used
    told = [event for event in talk.events if isinstance(event, Drafted)][-1]
    assert (told.tokens, told.prefilled) == (0, 0)


def test_of_what_is_not_sent_nothing_goes_to_disk(tmp_path: Path) -> None:
    talk = a_talk(tmp_path)
    talk.say(LONG)
    idle(talk)
    talk.do(talk.session.upkeep.put_away())
    before, path = talk.store.block_totals(), talk.path
    assert before[0] >= 1
    write(talk, LONG * 3)
    assert n_drafted(talk) > 2 * BLOCK_TOKENS
    talk.do(talk.session.upkeep.put_away())
    assert talk.store.block_totals() == before
    assert talk.path == path


def test_what_is_sent_belongs_to_its_turn(tmp_path: Path) -> None:
    talk = a_talk(tmp_path)
    write(talk, TEXT)
    talk.say(TEXT)
    kinds = [(segment.kind, segment.turn) for segment in talk.runtime.engine.ledger.segments]
    assert ("user", 1) in kinds
    assert all(kind != "draft" for kind, _ in kinds)


def test_blank_text_reads_nothing(tmp_path: Path) -> None:
    talk = a_talk(tmp_path)
    write(talk, " \n\t ")
    assert not n_drafted(talk)


def test_switched_off_it_only_counts(tmp_path: Path) -> None:
    talk = a_talk(tmp_path)
    write(talk, TEXT)
    talk.set("prefill.draft", False)
    talk.session.drafting.cut()
    write(talk, TEXT + "more")
    assert not n_drafted(talk)
    assert talk.session.drafting.drafted().tokens == talk.runtime.codec.count(TEXT + "more")
    talk.set("prefill.draft", True)
    talk.session.drafting.cut()
    idle(talk)
    assert n_drafted(talk)


def test_room_is_told_and_true(tmp_path: Path) -> None:
    talk = a_talk(tmp_path, memory=TIGHT)
    for n in range(3):
        talk.say(f"{n} hello there")
    idle(talk)
    told = talk.session.drafting.drafted()
    assert 0 < told.free < told.room
    planner = talk.session.upkeep.planner
    assert not planner.is_full(told.free)
    assert planner.is_full(told.free + 1)
    assert planner.excess(told.room) == 0


def test_a_text_for_which_old_turns_would_go_is_only_counted(tmp_path: Path) -> None:
    talk = a_talk(tmp_path, memory=TIGHT)
    talk.say("hello there " * 4)
    idle(talk)
    free = talk.session.drafting.drafted().free
    write(talk, "Q" * (free + 1))
    assert not n_drafted(talk)
    write(talk, "Q" * free)
    assert n_drafted(talk)
    too_long = "Q" * (talk.session.drafting.drafted().room + 1)
    write(talk, too_long)
    assert not n_drafted(talk)
    with pytest.raises(ContextFullError):
        talk.say(too_long)


def test_compaction_comes_first_and_takes_no_draft_for_its_own(tmp_path: Path) -> None:
    talk = a_talk(tmp_path, memory=TIGHT)
    while talk.session.context.summary is None:
        talk.say("boats and towers " * 2)
        write(talk, "and then?")
        done = [event for event in talk.events if isinstance(event, Compaction) and event.stage == "done"]
        settled = len(talk.session.upkeep.planner.stable.ids)
        assert n_drafted(talk) == len(talk.runtime.engine.ledger) - settled > 0
        assert all(event.tokens_after <= event.tokens_before for event in done)
        assert talk.session.context.rounds[-1].turn < 20
    assert talk.say("and then?").prefilled == 1


def test_what_would_be_recalled_is_read_ahead_too(tmp_path: Path) -> None:
    talk = a_talk(tmp_path, memory=MemoryConfig("400 KiB", keep_turns=1))
    for text in ("the towers of Ur are red", "boats are 1,450", "something else"):
        talk.say(text)
    talk.do(talk.session.upkeep.compact("", lambda: False))
    write(talk, "which towers are r", rest=False)
    assert not n_drafted(talk), "what is recalled stands before it"
    write(talk, "which towers are red?")
    turn = talk.say("which towers are red?")
    assert turn.recalled > 0
    assert turn.prefilled == 1
    assert turn.prefilled_early > turn.recalled
    write(talk, "which boats?")
    talk.do([talk.session.look_up("towers red")])
    talk.session.drafting.cut()
    idle(talk)
    with time_since_typing(1):
        idle(talk)
    turn = talk.say("which boats?")
    assert (turn.prefilled, turn.recalled > 0) == (1, True)


def test_out_of_memory_gives_the_draft_up_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = a_talk(tmp_path)
    talk.say("hello")
    idle(talk)
    settled = len(talk.runtime.engine.ledger)
    calls: list[int] = []
    feed = LocalEngine.feed

    def failing(self: LocalEngine, ids: list[int], kind: str, turn: int) -> None:
        calls.append(len(ids))
        if len(calls) > 1:
            raise OutOfMemory("none left")
        feed(self, ids, kind, turn)

    monkeypatch.setattr(LocalEngine, "feed", failing)
    write(talk, TEXT)
    assert (len(calls), len(talk.runtime.engine.ledger)) == (2, settled)
    assert not [event for event in talk.events if isinstance(event, Notice)]
    monkeypatch.undo()
    idle(talk)
    assert not n_drafted(talk)
    write(talk, TEXT + "!")
    assert talk.say(TEXT + "!").prefilled == 1
