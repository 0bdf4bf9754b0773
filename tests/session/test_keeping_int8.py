"""KV on disk in int8: never taken for exact, healed when idle, computed again where it is damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from int8 import LONG, a_talk, forms, held, leave, restored, tiers
from tiny import CONFIGS, reference_model, tiny_loaded

from chatkv.engine.local import LocalEngine
from chatkv.kv.blocks import BLOCK_TOKENS, INT8, exact_name, full_names, is_int8
from chatkv.protocol import Restored
from chatkv.session.finding import Finder


@pytest.fixture(autouse=True)
def reading_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models this small compute faster than a busy disk reads."""
    monkeypatch.setattr(Finder, "is_faster", lambda *_: True)


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_kind_comes_back_from_int8_and_goes_on(kind: str, tmp_path: Path) -> None:
    talk = a_talk(kind, tmp_path / "a.db", sure=True)
    held(talk)
    assert all(forms(talk))
    n_before = len(talk.runtime.engine.ledger)
    talk.resume(fresh_engine=True)
    turn = talk.say("and now?")
    assert restored(talk) == n_before
    assert turn.reused >= n_before - 1
    assert turn.prefilled < 40
    assert tiers(talk) == {"E2"}  # what is computed from it is as inexact
    assert talk.runtime.engine.in_step()
    talk.idle()
    can_heal = talk.runtime.engine.cache.can_move
    assert (tiers(talk) & {"E2"} == set()) == can_heal
    talk.say("and then?")  # where it is healed: compared with the model without any cache
    talk.idle()
    leave(talk)
    assert all(forms(talk))


@pytest.mark.parametrize("kind", ["llama", "gemma3", "phi3"])
def test_healed_kv_is_what_a_cold_prefill_computes(kind: str, tmp_path: Path) -> None:
    talk = a_talk(kind, tmp_path / "a.db", sure=True)
    held(talk)
    talk.resume(fresh_engine=True)
    talk.idle()
    engine, cold = talk.runtime.engine, LocalEngine(talk.loaded)
    assert engine.ledger.first_of("E2") is None
    cold.feed(engine.ledger.ids, "wrapper", 0)
    for mine, theirs in zip(engine.cache.keys(), cold.cache.keys(), strict=True):
        assert float((mine - theirs).norm()) < 1e-4 * float(theirs.norm())
    talk.say("and now?")
    assert talk.runtime.engine.ledger.first_of("E2") is None


def test_a_recurrent_conversation_grows_on_int8_and_comes_back_whole(tmp_path: Path) -> None:
    talk = a_talk("hybrid", tmp_path / "a.db", sure=True)
    for _ in range(3):
        held(talk, 2)
        n_before = len(talk.runtime.engine.ledger)
        talk.resume(fresh_engine=True)
        talk.idle()
        assert restored(talk) == n_before == len(talk.runtime.engine.ledger)
    assert all(forms(talk))


def test_int8_takes_a_third_of_float32(tmp_path: Path) -> None:
    """Of these models; of bfloat16 a little more than half."""
    sizes = {}
    for int8 in (True, False):
        talk = a_talk("llama", tmp_path / f"{int8}.db", int8=int8, sure=True)
        held(talk)
        sizes[int8] = talk.store.block_totals()[1]
    assert sizes[True] < 0.45 * sizes[False]


@pytest.mark.parametrize("int8_first", [True, False])
def test_chains_of_both_forms_are_read_through(int8_first: bool, tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db", int8=int8_first, sure=True)
    held(talk, 2)
    talk.set("store.kv_int8", not int8_first)
    held(talk, 2)
    assert set(forms(talk)) == {True, False}
    engine, names = talk.runtime.engine, [block.name for block in talk.store.all_blocks()]
    assert len({exact_name(name) for name in names}) == len(names)  # nothing is kept twice
    n_before, chain = len(engine.ledger), list(full_names(engine.ledger.ids, engine.fingerprint))
    first = next((n for n, name in enumerate(chain) if name + INT8 in names), len(chain))
    assert int8_first == (first == 0)
    for setting in (True, False):
        talk.set("store.kv_int8", setting)
        talk.resume(fresh_engine=True)
        for _ in range(20):
            talk.idle(1)
            if restored(talk):
                break
        talk.session.upkeep.interrupt()
        assert restored(talk) == n_before
        assert talk.runtime.engine.ledger.first_of("E2") == first * BLOCK_TOKENS
        assert "E0" in tiers(talk)
        talk.idle()
        leave(talk)
        assert "E2" not in tiers(talk)
        assert [block.name for block in talk.store.all_blocks()] == names  # healing writes no copies
    talk.say("and now?")


def test_the_exact_one_of_two_is_read(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db", sure=True)
    held(talk)
    ids = tuple(talk.runtime.engine.ledger.ids)
    names = [block.name for block in talk.store.all_blocks()]
    record = talk.session.record
    assert record is not None
    exact = a_talk("llama", tmp_path / "b.db", int8=False)
    held(exact)
    assert tuple(exact.runtime.engine.ledger.ids) == ids
    for block in exact.store.all_blocks():
        payload = exact.store.read_block(block)
        talk.store.put_block(block.name, block.parent, block.fingerprint, block.ids, payload, record.id)
    assert {block.name for block in talk.store.all_blocks()} == {*names, *map(exact_name, names)}
    talk.store.use_blocks(record.id, names)  # the newer use of the others makes no difference
    talk.resume(fresh_engine=True)
    for _ in range(20):
        talk.idle(1)
        if restored(talk):
            break
    assert restored(talk) == len(ids)
    assert tiers(talk) <= {"E0", "E1"}
    talk.say("and now?")


def test_inexact_tokens_are_never_written_as_exact_ones(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db", sure=True)
    held(talk)
    talk.set("store.kv_int8", False)
    talk.resume(fresh_engine=True)
    talk.say(LONG * 2)
    assert "E2" in tiers(talk)
    names = {block.name for block in talk.store.all_blocks()}
    talk.do(talk.session.upkeep.keeper.save(talk.session.upkeep.planner.stable, tail=True))
    assert {block.name for block in talk.store.all_blocks()} == names
    talk.idle()  # healed: what is new is exact
    new = {block.name for block in talk.store.all_blocks()} - names
    assert new
    assert not any(map(is_int8, new))


def test_where_nothing_is_healed_int8_is_neither_written_nor_read(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db", sure=True)
    held(talk)
    talk.set("memory.policy", "sinks")
    talk.resume(fresh_engine=True)
    talk.idle()
    assert restored(talk) == 0
    assert "E2" not in tiers(talk)
    leave(talk)
    exact = set(full_names(talk.runtime.engine.ledger.ids, talk.runtime.engine.fingerprint))
    assert exact <= {block.name for block in talk.store.all_blocks()}


def _flip(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 4
    file.write_bytes(raw)


HARMS: dict[str, Callable[[Path], object]] = {
    "flipped": _flip,
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-9]),
    "deleted": Path.unlink,
}


@pytest.mark.parametrize(("harm", "at"), [("flipped", 0), ("cut", 1), ("deleted", -1)])
def test_a_damaged_block_is_computed_again(harm: str, at: int, tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db", sure=True)
    held(talk)
    ids = tuple(talk.runtime.engine.ledger.ids)
    block = talk.store.all_blocks()[at]
    HARMS[harm](talk.store.block_folder / f"{block.name}.safetensors")
    talk.resume(fresh_engine=True)
    talk.idle()
    assert tuple(talk.runtime.engine.ledger.ids) == ids
    assert restored(talk, "refused") + restored(talk) < len(ids)
    talk.say("and now?")
    talk.idle()
    leave(talk)
    talk.resume(fresh_engine=True)
    talk.idle()
    assert restored(talk) == len(talk.runtime.engine.ledger)


def test_int8_that_lies_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where every digest and name fits, and with room for what int8 is off by."""
    monkeypatch.setattr(LocalEngine, "fingerprint", "the same")
    talk = a_talk("llama", tmp_path / "a.db", sure=True)
    held(talk)
    talk.loaded, talk.reference = tiny_loaded("qwen3"), reference_model("qwen3")
    talk.resume(fresh_engine=True)
    talk.idle()
    assert any(isinstance(event, Restored) and event.stage == "refused" for event in talk.events)
    talk.say("and now?")


def test_under_a_cap_the_ends_of_chains_go_first(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db", sure=True)
    held(talk, 1)
    one = talk.store.all_blocks()[0].n_bytes
    for n in range(4):
        talk.say(f"{n} {LONG}")
        talk.idle()
    names = list(full_names(talk.runtime.engine.ledger.ids, talk.runtime.engine.fingerprint))
    talk.store.evict_blocks(2 * one)
    assert [block.name for block in talk.store.all_blocks()] == [name + INT8 for name in names[:2]]


def test_deleting_a_session_deletes_its_blocks(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db", sure=True)
    held(talk)
    record = talk.session.record
    assert record is not None
    assert talk.store.stray_files() == []
    assert any(len(block.ids) == BLOCK_TOKENS for block in talk.store.all_blocks())
    talk.store.delete(record.id)
    assert list(talk.store.block_folder.iterdir()) == []
