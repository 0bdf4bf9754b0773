"""Compaction on every kind of model: what goes, what stays, and that the KV is exact before, after and if cancelled."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from talk import Talk, countdown
from thorough import cases
from tiny import CONFIGS, reference_model, tiny_loaded

from chatkv.config import MemoryConfig
from chatkv.kv.layers import GrowingLayer, StateLayer
from chatkv.memory import summary
from chatkv.protocol import Compaction, Event, Kv, Marks
from chatkv.session import compaction

MOVABLE = [kind for kind in CONFIGS if kind != "hybrid"]


def small(tmp_path: Path, kind: str = "llama", *, budget: str = "256 KiB", **memory: object) -> Talk:
    config = MemoryConfig(budget, **memory)  # type: ignore[arg-type]
    return Talk(tiny_loaded(kind), tmp_path / "t.db", reference=reference_model(kind), memory=config)


def stages(talk: Talk) -> list[str]:
    return [event.stage for event in talk.events if isinstance(event, Compaction)]


def done(events: list[Event]) -> Compaction:
    return next(event for event in events if isinstance(event, Compaction) and event.stage == "done")


def fill(talk: Talk, n_turns: int = 8) -> None:
    for n in range(n_turns):
        talk.say(f"Fact {n}: the harbour of Lisbon has {n * 37} boats in it.", 5)


def layers(talk: Talk) -> Iterator[torch.Tensor]:
    for layer in talk.runtime.engine.cache.layers:
        if isinstance(layer, GrowingLayer):
            yield from (states.clone() for states in (layer.keys, layer.values) if states is not None)
        if isinstance(layer, StateLayer):
            saved = layer.snapshot()
            held = (*saved.conv.values(), *saved.recurrent.values())
            yield from (state for state in held if state is not None)


@pytest.mark.parametrize("kind", CONFIGS)
def test_compaction_when_asked_keeps_what_must_stay_and_the_next_answer_is_exact(
    kind: str, tmp_path: Path
) -> None:
    talk = small(tmp_path, kind)
    fill(talk)
    talk.idle()
    talk.do(talk.session.upkeep.compact("", countdown(None)))
    event = done(talk.events)
    assert event.turns == (1, 2, 3, 4, 5, 6)
    assert event.method == ("rotated" if kind in MOVABLE else "prefilled")
    assert event.tokens_after < event.tokens_before
    marks = [mark.mark for mark in next(e for e in talk.events if isinstance(e, Marks)).turns]
    assert marks == ["summarized"] * 6 + ["verbatim"] * 2
    text = talk.runtime.codec.decode(talk.session.upkeep.planner.stable.ids)
    assert "be kind" in text
    assert "Fact 6: the harbour" in text
    assert "Fact 7: the harbour" in text
    assert "185 boats" not in text.replace(event.text, "")
    talk.idle()
    assert talk.runtime.engine.ledger.first_of("E2") is None
    turn = talk.say("And now?", 6)
    assert turn.reused + turn.prefilled_early + turn.prefilled == turn.kv_tokens - turn.decoded


EVERY = list(itertools.product(CONFIGS, [0, 1, 3, 8, 20]))
USUAL = [(kind, stop) for kind, stop in EVERY if kind == "llama" or stop == 8]


@pytest.mark.parametrize(("kind", "stop_after"), cases(EVERY, USUAL))
def test_a_cancelled_compaction_leaves_every_byte_as_it_was(
    kind: str, stop_after: int, tmp_path: Path
) -> None:
    talk = small(tmp_path, kind)
    fill(talk)
    talk.idle()
    ids, before = list(talk.runtime.engine.ledger.ids), list(layers(talk))
    talk.do(talk.session.upkeep.compact("", countdown(stop_after)))
    assert stages(talk)[-1] == "given_up"
    assert talk.session.context.summary is None
    assert list(talk.runtime.engine.ledger.ids) == ids
    assert all(torch.equal(a, b) for a, b in zip(layers(talk), before, strict=True))


@pytest.mark.parametrize("n_events", cases(range(1, 60, 7), range(1, 60, 14)))
def test_a_compaction_interrupted_anywhere_leaves_old_or_new_whole(n_events: int, tmp_path: Path) -> None:
    talk = small(tmp_path)
    fill(talk)
    talk.idle()
    before = list(layers(talk))
    work = talk.session.upkeep.compact("", countdown(None))
    seen = [event for event, _ in zip(work, range(n_events), strict=False)]
    work.close()
    talk.check_lengths()
    if not any(isinstance(event, Compaction) and event.stage == "done" for event in seen):
        assert talk.session.context.summary is None
        assert all(torch.equal(a, b) for a, b in zip(layers(talk), before, strict=True))
    talk.idle()
    talk.say("Go on.", 5)


def test_only_the_request_is_prefilled_before_the_summary_and_the_summary_alone_after(tmp_path: Path) -> None:
    talk = small(tmp_path)
    fill(talk)
    talk.idle()
    n_settled = len(talk.runtime.engine.ledger)
    talk.do(talk.session.upkeep.compact("", countdown(None)))
    event = done(talk.events)
    first = next(e for e in talk.events if isinstance(e, Compaction) and e.decoded == 1)
    assert first.prefilled < n_settled // 2
    summary = talk.runtime.codec.count(event.text)
    assert event.prefilled - first.prefilled <= summary + 48
    assert event.decoded <= talk.session.upkeep.planner.room.summary


def test_idle_time_compacts_above_the_soft_mark_and_not_again_for_five_turns(tmp_path: Path) -> None:
    talk = small(tmp_path, budget="350 KiB")
    at: list[int] = []
    for n in range(30):
        talk.say(f"Fact {n}: the harbour of Lisbon has {n * 37} boats.", 4)
        talk.idle()
        at += [n for event in talk.events if isinstance(event, Compaction) and event.stage == "done"]
    assert len(at) >= 2
    assert all(later - earlier >= 5 for earlier, later in itertools.pairwise(at))


def test_without_idle_time_a_full_context_compacts_before_the_message_is_read(tmp_path: Path) -> None:
    talk = small(tmp_path, budget="350 KiB")
    reasons = []
    for n in range(25):
        turn = talk.say(f"Fact {n}: the harbour of Lisbon has {n * 37} boats.", 4)
        assert turn.finish in ("stop", "length")
        reasons += [e.reason for e in talk.events if isinstance(e, Compaction) and e.stage == "done"]
        kept = {round.turn for round in talk.session.context.in_context()}
        assert {turn.turn, max(1, turn.turn - 1)} <= kept
        assert turn.reused + turn.prefilled_early + turn.prefilled + turn.decoded == turn.kv_tokens
    assert set(reasons) == {"full"}


def test_a_warning_comes_before_the_first_compaction_and_only_once(tmp_path: Path) -> None:
    talk = small(tmp_path, budget="350 KiB")
    seen: list[str] = []
    for n in range(20):
        talk.say(f"Fact {n}: the harbour of Lisbon has {n * 37} boats.", 4)
        seen += stages(talk)
        talk.idle()
        seen += stages(talk)
    assert seen.count("planned") == 1
    assert seen.index("planned") < seen.index("summarizing")


def test_the_kv_event_accounts_for_marks_second_part_and_process(tmp_path: Path) -> None:
    talk = small(tmp_path)
    fill(talk)
    kv = talk.runtime.kv_event()
    assert isinstance(kv, Kv)
    assert 0 < kv.target_tokens < kv.soft_tokens < kv.hard_tokens <= kv.limit_tokens
    assert kv.used_bytes <= kv.reserved_bytes <= kv.budget_bytes
    assert kv.weights_bytes > 0
    assert kv.rss_bytes > kv.weights_bytes
    talk.runtime.engine.fork(10, 5)
    assert talk.runtime.engine.cache.second_bytes == 10 * talk.loaded.bytes_per_token
    talk.runtime.engine.join()
    assert talk.runtime.engine.cache.second_bytes == 0


def test_nobody_waits_for_a_model_whose_summaries_were_of_no_use(tmp_path: Path) -> None:
    talk = small(tmp_path, budget="350 KiB")
    seen: list[Compaction] = []
    for n in range(45):
        talk.say(f"Fact {n}: the harbour of Lisbon has {n * 37} boats.", 4)
        seen += [e for e in talk.events if isinstance(e, Compaction) and e.stage == "done"]
    assert len(seen) >= 4
    assert {event.origin for event in seen} == {"extract"}, "a random model writes nothing of use"
    assert all(event.decoded > 0 for event in seen[:2])
    assert all(event.decoded == 0 and event.prefilled < 120 for event in seen[2:])


def test_an_answer_finds_the_first_sixth_of_what_was_moved_exact_and_counts_it(tmp_path: Path) -> None:
    talk = small(tmp_path)
    fill(talk)
    talk.idle()
    talk.do(talk.session.upkeep.compact("", countdown(None)))
    n_moved = sum(segment.n_tokens for segment in talk.runtime.engine.ledger.segments if segment.tier == "E2")
    first, old = talk.runtime.engine.ledger.first_of("E2"), talk.runtime.engine.ledger.low
    assert first is not None
    assert n_moved > 60
    front = -(-n_moved // 6)
    turn = talk.say("And now?", 4)
    assert talk.runtime.engine.ledger.first_of("E2") == first + front
    assert turn.reused == old - front
    assert turn.prefilled_early == first + n_moved - old
    assert turn.reused + turn.prefilled_early + turn.prefilled == turn.kv_tokens - turn.decoded


def test_a_model_whose_summaries_were_of_no_use_is_asked_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "_ASKED_AGAIN_AFTER", 2)
    talk = small(tmp_path, budget="350 KiB")
    asked: list[bool] = []
    for n in range(50):
        talk.say(f"Fact {n}: the harbour of Lisbon has {n * 37} boats.", 4)
        talk.idle()
        seen = [e for e in talk.events if isinstance(e, Compaction)]
        asked += [event.decoded > 0 for event in seen if event.stage == "done"]
    assert asked[:5] == [True, True, False, False, True]


def test_a_summary_as_long_as_what_it_stands_for_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = small(tmp_path)
    fill(talk, 5)
    talk.idle()
    before = list(layers(talk))
    monkeypatch.setattr(summary, "written", lambda *_, **__: summary.Written("long " * 150, "model"))
    talk.do(talk.session.upkeep.compact("", countdown(None)))
    assert stages(talk)[-1] == "given_up"
    assert talk.session.context.summary is None
    assert all(torch.equal(a, b) for a, b in zip(layers(talk), before, strict=True))


def test_a_summary_begun_in_one_pause_is_finished_in_the_next(tmp_path: Path) -> None:
    talk = small(tmp_path, budget="500 KiB")
    begun = talk.session.upkeep._draft
    while len(begun.ids) < 5:
        if not talk.session.upkeep.has_work:
            talk.say("The harbour of Lisbon has 37 boats and a tower.", 4)
        talk.idle(1)
    n_ids, turns = len(begun.ids), begun.turns
    talk.say("Another message in between, long enough to make one more turn go.", 4)
    talk.idle()
    event = done(talk.events)
    assert event.turns[: len(turns)] == turns
    assert event.decoded <= talk.session.upkeep.planner.room.summary - n_ids
