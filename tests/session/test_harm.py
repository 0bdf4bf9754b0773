"""Random damage to KV on disk and its index: never a wrong answer, never a failure, always said, always mended.

`CHATKV_TEST_HARMS` sets how many times (300 take a few minutes).
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from talk import Talk
from tiny import reference_model, tiny_loaded

from chatkv.protocol import Restored
from chatkv.session import Session
from chatkv.store import Store

N_HARMS = int(os.environ.get("CHATKV_TEST_HARMS", "12"))
KINDS = ("llama", "gemma3", "hybrid")
LONG = "the quick brown fox jumps over the lazy dog and " * 6

Harm = Callable[[random.Random, Store], None]

pytestmark = pytest.mark.usefixtures("reading_is_faster")


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder with a database and its blocks for each kind of model."""
    folders = {}
    for kind in KINDS:
        folders[kind] = tmp_path_factory.mktemp(kind)
        talk = Talk(tiny_loaded(kind), folders[kind] / "a.db", chunk=64)
        for n in range(4):
            talk.say(f"{n} {LONG}")
            talk.idle()
        talk.do(talk.session.upkeep.put_away())
        talk.store.close()
    return folders


def a_file(rng: random.Random, store: Store) -> Path:
    return rng.choice(sorted(file for file in store.block_folder.iterdir() if file.is_file()))


def flip_bits(rng: random.Random, store: Store) -> None:
    file = a_file(rng, store)
    raw = bytearray(file.read_bytes())
    for _ in range(rng.choice([1, 1, 1, 8, 100])):
        # The header stands at the beginning: it is hit as often as what follows.
        raw[rng.randrange(rng.choice([min(600, len(raw)), len(raw)]))] ^= 1 << rng.randrange(8)
    file.write_bytes(raw)


def cut(rng: random.Random, store: Store) -> None:
    file = a_file(rng, store)
    file.write_bytes(file.read_bytes()[: rng.randrange(file.stat().st_size)])


def lengthen(rng: random.Random, store: Store) -> None:
    with a_file(rng, store).open("ab") as sink:
        sink.write(rng.randbytes(rng.randrange(1, 99)))


def delete(rng: random.Random, store: Store) -> None:
    a_file(rng, store).unlink()


def swap(rng: random.Random, store: Store) -> None:
    one, two = a_file(rng, store), a_file(rng, store)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)


def make_a_folder(rng: random.Random, store: Store) -> None:
    file = a_file(rng, store)
    file.unlink()
    file.mkdir()


def some_names(rng: random.Random, store: Store, n: int) -> list[str]:
    names = [
        row["name"]
        for row in store._connection.execute(
            "SELECT name FROM blocks WHERE typeof(name) = 'text' ORDER BY name"
        )
    ]
    return rng.sample(names, n)


def change_rows(rng: random.Random, store: Store) -> None:
    column = rng.choice(["parent", "fingerprint", "ids", "n_bytes", "digest", "name", "used_at"])
    value = rng.choice(["x", 7, -1.5, rng.randbytes(9), bytes(1024), "", "../../a.db", "\x00", "f" * 64])
    (name,) = some_names(rng, store, 1)
    store._connection.execute("PRAGMA foreign_keys = OFF")
    store._connection.execute(f"UPDATE OR IGNORE blocks SET {column} = ? WHERE name = ?", (value, name))


def swap_rows(rng: random.Random, store: Store) -> None:
    column = rng.choice(["parent", "ids", "digest"])
    names = some_names(rng, store, 2)
    values = [
        store._connection.execute(f"SELECT {column} FROM blocks WHERE name = ?", (name,)).fetchone()[0]
        for name in names
    ]
    for name, value in zip(names, reversed(values), strict=True):
        store._connection.execute(f"UPDATE blocks SET {column} = ? WHERE name = ?", (value, name))


def delete_rows(rng: random.Random, store: Store) -> None:
    store._connection.execute("PRAGMA foreign_keys = OFF")
    for name in some_names(rng, store, rng.randrange(1, 3)):
        store._connection.execute("DELETE FROM blocks WHERE name = ?", (name,))


HARMS: list[Harm] = [flip_bits, flip_bits, cut, lengthen, delete, swap, make_a_folder]
ROW_HARMS: list[Harm] = [change_rows, change_rows, swap_rows, delete_rows]


@pytest.mark.parametrize("seed", range(N_HARMS))
def test_whatever_is_damaged_the_answer_is_right(seed: int, held: dict[str, Path], tmp_path: Path) -> None:
    rng, kind = random.Random(seed), KINDS[seed % len(KINDS)]
    folder = tmp_path / "copy"
    shutil.copytree(held[kind], folder)
    talk = Talk(tiny_loaded(kind), folder / "a.db", reference=reference_model(kind), chunk=64)
    record = talk.store.resolve("last")
    harms = [rng.choice(rng.choice([HARMS, ROW_HARMS])) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    for harm in harms:
        harm(rng, talk.store)
    talk.session = Session(talk.runtime, talk.store, record=record)
    if seed % 2:
        talk.idle()
    n_read = sum(
        event.tokens for event in talk.events if isinstance(event, Restored) and event.stage != "reading"
    )
    stable = talk.session.upkeep.planner.stable
    if seed % 2 and n_read < len(stable.ids):
        said = [event for event in talk.events if isinstance(event, Restored)]
        assert any(event.stage == "refused" or event.tokens < event.total for event in said), harms
    talk.say("and now?")  # compared with the model without any cache
    talk.idle()
    talk.do(talk.session.upkeep.put_away())
    for _ in range(6):  # a file that was not read this time is found out when it is
        talk.resume(fresh_engine=True)
        talk.idle()
        done = [event for event in talk.events if isinstance(event, Restored) and event.stage == "done"]
        talk.do(talk.session.upkeep.put_away())
        if sum(event.tokens for event in done) == len(talk.runtime.engine.ledger):
            break
    else:
        raise AssertionError(f"never mended: {harms}")
    talk.say("and then?")
