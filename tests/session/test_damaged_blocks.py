"""One damaged block or row at a time: computed again, the answer right, and whole on disk afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from kept import a_talk, held, leave, restored
from talk import Talk
from thorough import cases

from chatkv.kv.blocks import BLOCK_TOKENS, block_name, full_names
from chatkv.store import BlockRecord

pytestmark = pytest.mark.usefixtures("reading_is_faster")


Harm = Callable[[Talk, BlockRecord, Path], None]


@dataclass(frozen=True)
class Case:
    name: str
    harm: Callable[[Talk, BlockRecord, Path], object]


def _flip(talk: Talk, block: BlockRecord, file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 4
    file.write_bytes(raw)


def _swap(talk: Talk, block: BlockRecord, file: Path) -> None:
    other = next(f for f in sorted(file.parent.iterdir()) if f != file)
    one, two = file.read_bytes(), other.read_bytes()
    file.write_bytes(two)
    other.write_bytes(one)


def _sql(statement: str) -> Harm:
    def harm(talk: Talk, block: BlockRecord, file: Path) -> None:
        talk.store._connection.execute("PRAGMA foreign_keys = OFF")
        talk.store._connection.execute(statement, {"name": block.name})

    return harm


PLACES = {0: "first", 1: "second", -1: "tail"}
HARMS = [
    Case("flipped", _flip),
    Case("cut", lambda talk, block, file: file.write_bytes(file.read_bytes()[:-9])),
    Case("emptied", lambda talk, block, file: file.write_bytes(b"")),
    Case("deleted", lambda talk, block, file: file.unlink()),
    Case("swapped", _swap),
    Case("row deleted", _sql("DELETE FROM blocks WHERE name = :name")),
    Case("other ids", _sql("UPDATE blocks SET ids = zeroblob(length(ids)) WHERE name = :name")),
    Case(
        "first id kept",
        _sql("UPDATE blocks SET ids = substr(ids, 1, 40) || zeroblob(length(ids) - 40) WHERE name = :name"),
    ),
    Case("other digest", _sql("UPDATE blocks SET digest = 'x' WHERE name = :name")),
    Case("other size", _sql("UPDATE blocks SET n_bytes = 7 WHERE name = :name")),
    Case("other model", _sql("UPDATE blocks SET fingerprint = 'x' WHERE name = :name")),
    Case("other parent", _sql("UPDATE blocks SET parent = 'x' WHERE name = :name")),
]


EVERY = list(itertools.product(HARMS, PLACES))
USUAL = [*zip(HARMS, itertools.cycle(PLACES), strict=False), *itertools.product(HARMS[:1], [1, -1])]


@pytest.mark.parametrize(
    ("case", "at"), cases(EVERY, USUAL), ids=lambda value: getattr(value, "name", PLACES.get(value))
)
def test_a_damaged_block_is_computed_again(case: Case, at: int, tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    held(talk)
    ids = tuple(talk.runtime.engine.ledger.ids)
    names = list(full_names(ids, talk.runtime.engine.fingerprint))
    names.append(block_name(names[-1], ids[len(names) * BLOCK_TOKENS :]))
    block = next(block for block in talk.store.all_blocks() if block.name == names[at])
    case.harm(talk, block, talk.store.block_folder / f"{block.name}.safetensors")
    talk.resume(fresh_engine=True)
    talk.idle()
    assert tuple(talk.runtime.engine.ledger.ids) == ids
    took = sum(event.tokens for event in restored(talk) + restored(talk, "refused"))
    assert took < len(ids)
    turn = talk.say("and now?")  # compared with the model without any cache
    assert turn.prefilled < 40
    talk.idle()
    leave(talk)
    talk.resume(fresh_engine=True)
    talk.idle()
    assert sum(event.tokens for event in restored(talk)) == len(talk.runtime.engine.ledger)
