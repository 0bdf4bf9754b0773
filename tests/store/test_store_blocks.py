"""Files of KV and their index: durable, private, shared, evicted from the ends, and whole after any death."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import blocks_writer
import pytest
from blocks_writer import keep, name_of
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.errors import DamagedBlockError, StoreError
from chatkv.store import BlockRecord, Store


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "a.db", clock=Clock()) as opened:
        yield opened


def kept(store: Store) -> list[int]:
    names = {block.name for block in store.all_blocks()}
    return [n for n in range(50) if name_of(n) in names]


def on_disk(store: Store) -> set[str]:
    return {file.stem for file in store.block_folder.iterdir()} if store.block_folder.exists() else set()


def test_what_was_put_is_what_is_read(store: Store) -> None:
    session = store.create_session("m").id
    payload = os.urandom(1000)
    assert store.put_block(name_of(1), "0" * 64, "model", [1, 2, 3], payload, session)
    (block,) = store.block_children("0" * 64, "model")
    assert (block.ids, block.n_bytes, block.name) == ((1, 2, 3), 1000, name_of(1))
    assert store.read_block(block) == payload
    assert store.block_children("0" * 64, "another") == []
    file = store.block_folder / f"{name_of(1)}.safetensors"
    assert file.stat().st_mode & 0o777 == 0o600
    assert store.block_folder.stat().st_mode & 0o777 == 0o700


def test_a_block_is_written_once_and_used_by_many(store: Store) -> None:
    one, two = store.create_session("m").id, store.create_session("m").id
    assert keep(store, 1, session=one)
    before = (store.block_folder / f"{name_of(1)}.safetensors").stat().st_mtime_ns
    assert not keep(store, 1, session=two)
    assert (store.block_folder / f"{name_of(1)}.safetensors").stat().st_mtime_ns == before
    store.delete(one)
    assert kept(store) == [1]
    store.delete(two)
    assert kept(store) == []
    assert on_disk(store) == set()


def test_the_ends_of_the_least_used_chains_go_first(store: Store) -> None:
    session = store.create_session("m").id
    for n, parent in ((1, None), (2, 1), (3, 2), (11, 1), (12, 11)):
        keep(store, n, parent, session=session)
    store.use_blocks(session, [name_of(n) for n in (1, 2, 3)])
    gone = []
    while kept(store):
        before = kept(store)
        store.evict_blocks(100 * (len(before) - 1))
        gone += [n for n in before if n not in kept(store)]
    assert gone == [12, 11, 3, 2, 1]


@settings(max_examples=40, deadline=None)
@given(
    parents=st.lists(st.integers(0, 100), min_size=1, max_size=12),
    used=st.lists(st.integers(0, 11), max_size=8),
    limit=st.integers(0, 12),
)
def test_no_block_outlives_the_one_it_goes_on_from(
    tmp_path_factory: pytest.TempPathFactory, parents: list[int], used: list[int], limit: int
) -> None:
    with Store.open(tmp_path_factory.mktemp("x") / "a.db", clock=Clock()) as store:
        session = store.create_session("m").id
        tree: dict[int, int | None] = {}
        for n, choice in enumerate(parents):
            tree[n] = choice % n if n and choice % (n + 1) else None
            keep(store, n, tree[n], session=session)
        for n in used:
            chain, at = [], n if n in tree else None
            while at is not None:
                chain.append(name_of(at))
                at = tree[at]
            store.use_blocks(session, chain)
        freed = store.evict_blocks(100 * limit)
        left = kept(store)
        assert len(left) == min(limit, len(tree))
        assert freed == 100 * (len(tree) - len(left))
        assert all(tree[n] is None or tree[n] in left for n in left)
        assert on_disk(store) == {name_of(n) for n in left}


def test_a_changed_file_or_row_is_damage(store: Store) -> None:
    session = store.create_session("m").id
    keep(store, 1, session=session)
    (block,) = store.all_blocks()
    file = store.block_folder / f"{block.name}.safetensors"
    good = file.read_bytes()
    for bad in (good[:-1], good + b"x", b"", b"x" + good[1:]):
        file.write_bytes(bad)
        with pytest.raises(DamagedBlockError):
            store.read_block(block)
    file.write_bytes(good)
    assert store.read_block(block) == good
    file.unlink()
    with pytest.raises(DamagedBlockError, match="cannot be read"):
        store.read_block(block)


@pytest.mark.parametrize("name", ["../a", "x", "", "F" * 64, "\0" * 64])
def test_a_damaged_name_leads_to_no_other_file(name: str, store: Store) -> None:
    session = store.create_session("m").id
    keep(store, 1, session=session)
    other = store.file.parent / "a.safetensors"
    other.write_bytes(b"mine")
    store._connection.execute("PRAGMA foreign_keys = OFF")
    store._connection.execute("UPDATE blocks SET name = ?", (name,))
    (block,) = store.all_blocks()
    with pytest.raises(DamagedBlockError):
        store.read_block(block)
    store.forget_blocks([block.name])
    assert store.all_blocks() == []
    assert other.read_bytes() == b"mine"


def test_a_disk_that_refuses_leaves_nothing_behind(store: Store) -> None:
    session = store.create_session("m").id
    store.block_folder.write_text("in the way")
    with pytest.raises(StoreError, match="Cannot write a KV block"):
        keep(store, 1, session=session)
    assert store.all_blocks() == []
    store.block_folder.unlink()
    assert keep(store, 1, session=session)


@pytest.mark.slow
def test_killed_at_any_moment_every_row_has_its_file(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with Store.open(file) as store:
        session = store.create_session("m").id
    rng = random.Random(5)
    for n_kill in range(int(os.environ.get("CHATKV_TEST_KILLS", "6"))):
        argv = [sys.executable, blocks_writer.__file__, str(file), session]
        writers = [subprocess.Popen([*argv, str(2 * n_kill + k)]) for k in range(2)]
        with Store.open(file) as store:
            n_blocks = store.block_totals()
            while store.block_totals() == n_blocks and all(writer.poll() is None for writer in writers):
                time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.2))
        for writer in writers:
            assert writer.poll() is None
            writer.kill()
            writer.wait()
        with Store.open(file) as store:
            assert store._connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            for block in store.all_blocks():
                assert len(store.read_block(block)) == block.n_bytes
            strays = store.stray_files()
            assert len(strays) <= 2 * 34  # what was written or deleted at that moment
            for stray in strays:
                stray.unlink()
            assert isinstance(store.all_blocks()[0], BlockRecord)
