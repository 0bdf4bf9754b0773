"""Writes, uses, forgets and evicts KV blocks until it is killed: `python blocks_writer.py FILE SESSION SEED`."""

from __future__ import annotations

import hashlib
import random
import sys
from pathlib import Path

from chatkv.store import Store


def name_of(n: int) -> str:
    return hashlib.sha256(str(n).encode()).hexdigest()


def keep(store: Store, n: int, parent: int | None = None, *, session: str, size: int = 100) -> bool:
    root = "0" * 64
    return store.put_block(
        name_of(n), root if parent is None else name_of(parent), "model", [n, 7], bytes(size), session
    )


def main(file: Path, session: str, seed: int) -> None:
    rng = random.Random(seed)
    with Store.open(file) as store:
        while True:
            n = rng.randrange(40)
            keep(store, n, None if n == 0 else n // 2, session=session, size=rng.choice([10, 200_000]))
            if rng.random() < 0.2:
                store.forget_blocks([name_of(rng.randrange(40))])
            if rng.random() < 0.1:
                store.evict_blocks(1_000_000)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
