"""KV on disk: what a new process takes back, what it computes when a block is missing or wrong, what is written."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from kept import LONG, a_talk, held, leave, restored
from talk import Talk
from tiny import CHATML, CONFIGS, reference_model, tiny_loaded

from chatkv.engine.local import LocalEngine
from chatkv.kv.blocks import BLOCK_TOKENS, full_names
from chatkv.protocol import Notice, Turn
from chatkv.runtime import build_runtime
from chatkv.session.keeping import Keeper

pytestmark = pytest.mark.usefixtures("reading_is_faster")


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_new_process_prefills_only_what_is_new(kind: str, tmp_path: Path) -> None:
    talk = a_talk(kind, tmp_path / "a.db")
    held(talk)
    n_before = len(talk.runtime.engine.ledger)
    talk.resume(fresh_engine=True)
    talk.idle()
    (done,) = restored(talk)
    assert done.tokens == done.total == n_before == len(talk.runtime.engine.ledger)
    assert set(talk.runtime.engine.ledger.segments) >= {talk.runtime.engine.ledger.segments[0]}
    turn = talk.say("and now?")
    assert turn.reused + turn.prefilled_early >= n_before
    assert turn.prefilled_early <= 1  # the one token that proves the rest
    assert turn.prefilled < 40


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_message_right_after_opening_waits_for_no_idle_time(kind: str, tmp_path: Path) -> None:
    talk = a_talk(kind, tmp_path / "a.db")
    held(talk)
    n_before = len(talk.runtime.engine.ledger)
    talk.resume(fresh_engine=True)
    turn = talk.say("and now?")
    assert restored(talk)[-1].tokens == n_before
    assert turn.reused >= n_before - 1
    assert turn.prefilled < 40


@pytest.mark.parametrize("kind", ["llama", "gemma3", "hybrid"])
def test_reading_can_be_broken_off_anywhere(kind: str, tmp_path: Path) -> None:
    talk = a_talk(kind, tmp_path / "a.db")
    held(talk, 5)
    for n_steps in range(6):
        talk.resume(fresh_engine=True)
        talk.idle(n_steps)
        talk.session.upkeep.interrupt()
        talk.check_lengths()
        talk.say("and now?", stop_after=0 if n_steps % 2 else None)
        assert talk.path[-1].status in ("complete", "length")


def test_only_new_blocks_are_written(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk)
    written = {block.name for block in talk.store.all_blocks()}
    n_bytes = talk.session.upkeep.keeper.written_bytes
    new_bytes = len(talk.runtime.engine.ledger) * talk.loaded.bytes_per_token
    assert n_bytes <= 1.1 * new_bytes + 8192 * len(written)  # headers: these models' tokens are tiny
    talk.say("more " + LONG)
    talk.idle()
    more = [block for block in talk.store.all_blocks() if block.name not in written]
    assert len(more) == len(talk.runtime.engine.ledger) // BLOCK_TOKENS - sum(
        len(block.ids) == BLOCK_TOKENS for block in talk.store.all_blocks() if block.name in written
    )


def test_a_fork_shares_the_blocks_before_it(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk, 4)
    before = {block.name for block in talk.store.all_blocks() if len(block.ids) == BLOCK_TOKENS}
    first = talk.path[1]
    talk.fork(first.id)
    talk.idle()
    leave(talk)
    assert {block.name for block in talk.store.all_blocks() if len(block.ids) == BLOCK_TOKENS} == before
    talk.say("something else " + LONG)
    talk.idle()
    after = {block.name for block in talk.store.all_blocks() if len(block.ids) == BLOCK_TOKENS}
    mine = set(full_names(talk.runtime.engine.ledger.ids, talk.runtime.engine.fingerprint))
    assert after == before | mine
    assert mine & before  # what both branches begin with is there once


def test_switching_back_to_a_branch_reads_it_from_disk(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk, 4)
    there, n_before = talk.path[-1], len(talk.runtime.engine.ledger)
    talk.edit(talk.path[0].id, "another beginning " + LONG)
    talk.idle()
    leave(talk)
    talk.do(talk.session.switch(there.id))
    talk.idle()
    assert len(talk.runtime.engine.ledger) == n_before
    assert restored(talk)[-1].tokens > n_before - BLOCK_TOKENS
    assert talk.say("and now?").prefilled < 40


def test_a_new_session_begins_with_the_blocks_of_its_system_prompt(tmp_path: Path) -> None:
    system = "be kind and " * 60
    talk = Talk(tiny_loaded("llama"), tmp_path / "a.db", system=system, chunk=64)
    held(talk, 1)
    other = Talk(tiny_loaded("llama"), tmp_path / "a.db", system=system, chunk=64)
    other.idle()
    assert restored(other)[0].tokens >= len(system) // BLOCK_TOKENS * BLOCK_TOKENS


def test_kv_of_other_weights_is_never_found(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk)
    talk.loaded, talk.reference = tiny_loaded("qwen2"), reference_model("qwen2")
    talk.resume(fresh_engine=True)
    talk.idle()
    assert not restored(talk)
    talk.say("and now?")


def test_a_block_that_lies_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where every digest and name fits, wrong keys are found out by computing one token."""
    monkeypatch.setattr(LocalEngine, "fingerprint", "the same")
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk)
    talk.loaded, talk.reference = tiny_loaded("qwen3"), reference_model("qwen3")
    talk.resume(fresh_engine=True)
    talk.idle()
    assert len(restored(talk, "refused")) == 1
    talk.say("and now?")
    talk.idle()
    leave(talk)
    talk.resume(fresh_engine=True)
    talk.idle()
    assert not restored(talk, "refused")
    assert restored(talk)[-1].tokens == len(talk.runtime.engine.ledger)


def test_a_full_disk_is_said_once_and_the_chat_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    usage = type("usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    talk.say(LONG)
    talk.idle()
    notices = [event for event in talk.events if isinstance(event, Notice)]
    assert ["not kept on disk" in notice.text for notice in notices] == [True]
    talk.say(LONG)
    talk.idle()
    assert not [event for event in talk.events if isinstance(event, Notice)]
    assert talk.store.block_totals() == (0, 0)


def test_the_cap_holds_and_the_beginnings_stay(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk, 1)
    one = talk.store.all_blocks()[0].n_bytes
    talk.set("store.kv", f"{3 * one} B")
    for n in range(4):
        talk.say(f"{n} {LONG}")
        talk.idle()
    n_blocks, n_bytes = talk.store.block_totals()
    assert n_bytes <= 3 * one
    assert n_blocks == 3
    first = next(full_names(talk.runtime.engine.ledger.ids, talk.runtime.engine.fingerprint))
    assert first in {block.name for block in talk.store.all_blocks()}


def test_none_is_none(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    talk.set("store.kv", "0")
    held(talk)
    assert not talk.store.block_folder.exists()


def test_deleting_a_session_deletes_its_blocks(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk)
    record = talk.session.record
    assert record is not None
    assert any(talk.store.block_folder.iterdir())
    talk.store.delete(record.id)
    assert list(talk.store.block_folder.iterdir()) == []
    assert talk.store.block_totals() == (0, 0)


def test_files_are_private(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk)
    assert {file.stat().st_mode & 0o777 for file in talk.store.block_folder.iterdir()} == {0o600}


def test_moved_keys_are_not_written_until_they_are_healed(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk, 4)
    talk.do(talk.session.upkeep.compact("", lambda: False))
    assert talk.runtime.engine.ledger.first_of("E2") is not None
    talk.do(talk.session.upkeep.keeper.save(talk.session.upkeep.planner.stable, tail=True))
    exact = talk.runtime.engine.ledger.first_of("E2")
    assert exact is not None
    kept = {block.name: block for block in talk.store.all_blocks()}
    ids = talk.runtime.engine.ledger.ids
    for name in full_names(ids, talk.runtime.engine.fingerprint):
        assert (name in kept) <= (exact >= BLOCK_TOKENS)
    talk.idle()
    leave(talk)
    talk.resume(fresh_engine=True)
    talk.idle()
    assert sum(event.tokens for event in restored(talk)) == len(talk.runtime.engine.ledger)
    assert isinstance(talk.say("and now?"), Turn)


def test_what_is_faster_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk)
    talk.store.set_rates(talk.runtime.engine.fingerprint, 100.0, 1e6)
    keeper = Keeper(build_runtime(talk.loaded, talk.config), talk.session.context)
    assert keeper.finder.is_faster(100, 999_999)
    assert not keeper.finder.is_faster(100, 1_000_001)
    talk.store.set_rates(talk.runtime.engine.fingerprint, 1e9, 1.0)
    talk.resume(fresh_engine=True)
    talk.idle()
    assert not restored(talk)
    assert talk.say("and now?").prefilled < 40


def test_a_template_that_prints_the_date_prints_the_day_the_session_began(tmp_path: Path) -> None:
    loaded = tiny_loaded("llama")
    tokenizer = copy.deepcopy(loaded.tokenizer)
    tokenizer.chat_template = "Today is {{ strftime_now('%d %B %Y') }}.\n" + CHATML
    talk = Talk(replace(loaded, tokenizer=tokenizer), tmp_path / "a.db", chunk=64)
    held(talk)
    ids = tuple(talk.runtime.engine.ledger.ids)
    record = talk.session.record
    assert record is not None
    talk.store._connection.execute("UPDATE sessions SET created_at = created_at - 864000")
    talk.resume(fresh_engine=True)
    talk.idle()
    old = talk.runtime.codec.decode(talk.runtime.engine.ledger.ids)
    assert f"{datetime.fromtimestamp(record.created_at - 864_000):%d %B %Y}" in old
    talk.store._connection.execute("UPDATE sessions SET created_at = created_at + 864000")
    talk.resume(fresh_engine=True)
    talk.idle()
    assert tuple(talk.runtime.engine.ledger.ids) == ids
