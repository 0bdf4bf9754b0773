"""Several sessions under one budget: warm in memory while there is room, on disk always, the same answers."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from talk import assert_greedy
from tiny import reference_model, save_tiny

from chatkv.config import Config, LoadConfig, MemoryConfig, PrefillConfig, SamplingConfig, StoreConfig
from chatkv.host import Host
from chatkv.kv.cache import LiveCache
from chatkv.paths import locate
from chatkv.protocol import Command, Event, Kv, New, Open, Restored, Send, Set, Turn

LONG = "the quick brown fox jumps over the lazy dog and " * 6

pytestmark = pytest.mark.usefixtures("reading_is_faster")


class Desk:
    """A host on a tiny model; its events."""

    def __init__(self, folder: Path, *, budget: str = "1 GiB", kv: str = "auto") -> None:
        config = replace(
            Config(),
            model=str(save_tiny("llama", folder / "model")),
            load=LoadConfig(device="cpu", dtype="float32", threads=1),
            sampling=SamplingConfig(temperature=0.0, max_new_tokens=8),
            memory=MemoryConfig(budget, recall=False),
            prefill=PrefillConfig(64),
            store=StoreConfig(kv=kv),
        )
        self.events: list[Event] = []
        self.host = Host(config, locate(str(folder / "home")), self.take)
        self.host.load()

    def take(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, Kv):
            assert event.used_bytes - event.warm_bytes <= event.reserved_bytes <= event.budget_bytes
            assert event.warm_bytes <= event.reserved_bytes

    def do(self, command: Command) -> list[Event]:
        self.events = []
        self.host.handle(command, lambda: False, time.perf_counter())
        return self.events

    def idle(self) -> list[Event]:
        self.events = []
        while self.host.has_idle_work:
            self.host.idle_step()
        return self.events

    def say(self, text: str) -> Turn:
        turn = next(event for event in self.do(Send(text)) if isinstance(event, Turn))
        self.check()
        return turn

    def check(self) -> None:
        """The answer is that of a model without any cache."""
        session = self.host.session
        path = session.context.path
        prompt = session.runtime.chat.render(session.context.messages(path[:-1]), answer=True)
        assert_greedy(reference_model("llama"), prompt.ids, path[-1].ids)

    @property
    def session_id(self) -> str:
        record = self.host.session.record
        assert record is not None
        return record.id


def restored(events: list[Event]) -> int:
    return sum(event.tokens for event in events if isinstance(event, Restored) and event.stage == "done")


def test_going_back_reads_nothing_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.say("first " + LONG)
    desk.idle()
    first, n_tokens = desk.session_id, len(desk.host.runtime.engine.ledger)
    desk.do(New())
    assert desk.say("second " + LONG).reused < 9  # without a system prompt, only the template's first words
    desk.idle()
    second = desk.session_id
    desk.do(Open(first))
    assert len(desk.host.runtime.engine.ledger) == n_tokens  # warm: there at once
    assert restored(desk.idle()) == 0
    turn = desk.say("and now?")
    assert turn.reused == n_tokens
    desk.do(Open(second))
    assert desk.say("and here?").prefilled < 40


def test_a_new_session_copies_the_system_prompt(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    system = "be kind and brief " * 9
    desk.do(New(system))
    desk.say("first")
    desk.idle()
    desk.do(New(system))
    turn = desk.say("second")
    assert turn.reused > len(system) - 9
    assert turn.prefilled < 60


def test_the_budget_holds_all_sessions_and_the_oldest_goes(tmp_path: Path) -> None:
    desk = Desk(tmp_path, budget="256 KiB")  # 1,024 tokens of this model
    sessions = []
    for n in range(4):
        desk.do(New())
        desk.say(f"{n} {LONG}")
        desk.idle()
        sessions.append(desk.session_id)
    parking = desk.host.runtime.engine.parking
    assert 0 < len(parking) < 3
    desk.do(Open(sessions[0]))
    assert restored(desk.idle()) > 200  # it was dropped, and is on disk
    assert desk.say("and now?").prefilled < 40


def test_a_lower_budget_drops_what_is_warm(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for n in range(3):
        desk.do(New())
        desk.say(f"{n} {LONG}")
        desk.idle()
    assert len(desk.host.runtime.engine.parking) == 2
    desk.do(Set("memory.budget", "128 KiB"))
    desk.say("and now?")
    assert len(desk.host.runtime.engine.parking) == 0


def test_without_disk_a_dropped_session_is_computed_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, budget="160 KiB", kv="0")
    desk.say("first " + LONG)
    desk.idle()
    first = desk.session_id
    desk.do(New())
    desk.say("second " + LONG)
    desk.do(Open(first))
    desk.idle()
    assert desk.say("and now?").prefilled < 40
    assert not (desk.host.store.block_folder).exists()


def out_of_memory(*_: object) -> None:
    raise torch.OutOfMemoryError("no room")


def test_no_memory_to_copy_from_a_warm_session_only_costs_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, kv="0")
    system = "be kind and brief " * 9
    desk.do(New(system))
    desk.say("first")
    desk.idle()
    desk.do(New(system))
    monkeypatch.setattr(LiveCache, "begin_like", out_of_memory)
    assert desk.say("second").reused == 0
    assert desk.host.runtime.engine.in_step()


def test_no_memory_to_keep_a_session_warm_only_costs_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path)
    desk.say("first " + LONG)
    desk.idle()
    first = desk.session_id
    monkeypatch.setattr(desk.host.runtime.engine.cache, "shrink", out_of_memory)
    desk.do(New())
    assert len(desk.host.runtime.engine.parking) == 0
    desk.say("second")
    desk.do(Open(first))
    assert desk.host.runtime.engine.in_step()
    desk.say("and now?")
