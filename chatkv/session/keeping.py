"""KV on disk for one conversation: written as it fills, taken back where that is faster than computing it.

Nothing on disk is needed for an answer to be right. Whatever is missing, damaged or not of this model is computed
again, and said.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Generator, Sequence

from chatkv.engine.local import OutOfMemory
from chatkv.engine.proof import agrees
from chatkv.errors import DamagedBlockError, StoreError
from chatkv.kv.blocks import (
    BLOCK_TOKENS,
    INT8,
    block_name,
    exact_name,
    full_names,
    packed,
    root_name,
)
from chatkv.memory.budget import disk_bytes
from chatkv.protocol import Event, Notice, Restored
from chatkv.runtime import Runtime
from chatkv.session.context import Context
from chatkv.session.fidelity import Fidelity
from chatkv.session.finding import LEAST_TOKENS, Finder, Piece
from chatkv.store import BlockRecord
from chatkv.tokens import Rendered

Work = Generator[Event, None, None]

_SPARED_BYTES = 256 << 20
"""Free space on disk that is never taken."""
_PAUSE_S = 30.0
"""How long nothing is tried again after the disk or the database refused."""


class Keeper:
    """Writes the KV of one context to disk, and takes it back."""

    def __init__(self, runtime: Runtime, context: Context) -> None:
        self.runtime = runtime
        self.context = context
        self.fidelity = Fidelity(lambda: self.runtime, context)
        self.fingerprint = runtime.engine.fingerprint
        self.finder = Finder(lambda: self.runtime, context, self.fidelity, self._forget)
        self.written_bytes, self.written_s = 0, 0.0
        self._known: set[str] = set()
        self._unproven: int | None = None
        self._on_trial: list[BlockRecord] = []
        self._looked = False
        self._paused_until = self._blind_until = 0.0
        self._read_bytes, self._read_s = 0, 0.0

    @property
    def enabled(self) -> bool:
        """Whether KV may be on disk at all."""
        return self.runtime.kv_on_disk.strip() != "0" and self.runtime.engine.cache.rollback != "rebuild"

    # ── back ─────────────────────────────────────────────────────────────────────────────────────────────

    def restore(self, wanted: Rendered, *, whole: bool = False) -> Work:
        """Take from disk what the KV lacks of `wanted`; it is cut to what they share if there is anything to take.

        `whole`: the last token, too. The newest one of a prompt must run anyway.
        """
        engine = self.runtime.engine
        ids = wanted.ids if whole else wanted.ids[:-1]
        if engine.begin_like(ids[: engine.limit_tokens]):
            engine.ledger.relabel(wanted.segments)
        shared = engine.nearest(min(engine.ledger.shared(ids), len(ids)))
        problem, found = "", []
        may_look = self.enabled and time.monotonic() >= self._blind_until
        if may_look and shared < len(ids) <= engine.limit_tokens:
            try:
                found = list(self.finder.worth_reading(ids, shared))
            except StoreError as error:
                self._blind_until, problem = time.monotonic() + _PAUSE_S, error.message
            problem = problem or self._missing(found)
        if found:
            start = engine.rewind(shared)
            problem = yield from self._read(found, wanted, start)
        if not problem and self._unproven is not None:
            problem = self._proven()
        if found or problem:
            got = max(0, len(engine.ledger) - shared)
            yield Restored(
                "refused" if problem else "done",
                got,
                len(ids) - shared,
                self._read_bytes,
                self._read_s,
                problem,
            )

    def _read(self, found: Sequence[Piece], wanted: Rendered, start: int) -> Generator[Event, None, str]:
        """Read pieces into the KV; why it ended early, if it did. A cache that cannot be cut takes all or nothing."""
        engine, store = self.runtime.engine, self.context.store
        total, began, complete = sum(piece.take for piece in found), time.perf_counter(), False
        self._read_bytes, self._read_s = 0, 0.0
        try:
            for piece in found:
                at = len(engine.ledger)
                payload = store.read_block(piece.block)
                engine.restore(payload, piece.block.name, wanted.ids[at : at + piece.take], piece.skip)
                engine.ledger.relabel(wanted.segments)
                self._on_trial.append(piece.block)
                self._unproven = start if self._unproven is None else self._unproven
                self._read_bytes += len(payload)
                self._read_s = time.perf_counter() - began
                yield Restored("reading", len(engine.ledger) - start, total, self._read_bytes, self._read_s)
            complete = True
            self.finder.read_per_s = self._read_bytes / self._read_s
        except DamagedBlockError as error:
            self._forget(piece.block)
            return error.message
        except (StoreError, OutOfMemory) as error:
            return error.message
        finally:
            if not complete and engine.cache.rollback == "checkpoint":
                engine.rewind(start)
        self._note_use([piece.block.name for piece in found])
        return ""

    def _missing(self, found: Sequence[Piece]) -> str:
        """What to say, once, of a session whose KV was kept and is not there."""
        record, first = self.context.record, not self._looked
        self._looked = True
        if found or not first or record is None or not self.context.store.uses_blocks(record.id):
            return ""
        return "The KV that was kept of this session is gone, or is another model's."

    def _proven(self) -> str:
        """Prove what was read; why it was thrown away, on disk too, if it does not stand."""
        engine, start, read = self.runtime.engine, self._unproven, self._on_trial
        self._unproven, self._on_trial = None, []
        if start is None or start >= len(engine.ledger) or agrees(engine):
            return ""
        engine.rewind(start)
        for block in read:
            self._forget(block)
        return "The KV on disk is not what this model computes."

    # ── out ──────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, stable: Rendered, *, tail: bool = False) -> Work:
        """Write the full blocks of what is settled, one a step; with `tail` also what stands behind the last one."""
        record = self.context.record
        if record is None or not self.enabled or time.monotonic() < self._paused_until:
            return
        parent, at = root_name(self.fingerprint), 0
        try:
            if not tail:
                yield from self.fidelity.calibrate(len(self._writable(stable, exact=True)))
            ids = self._writable(stable, exact=not self.fidelity.writes_int8())
            for name in full_names(ids, self.fingerprint):
                block = ids[at : at + BLOCK_TOKENS]
                if name not in self._known:
                    self._write(name, parent, at, block, record.id)
                    yield self.runtime.kv_event()
                parent, at = name, at + BLOCK_TOKENS
            if tail and self._is_worth(ids, at):
                self._write(block_name(parent, ids[at:]), parent, at, ids[at:], record.id)
        except StoreError as error:
            self._paused_until = time.monotonic() + _PAUSE_S
            yield Notice(f"KV is not kept on disk for now: {error.message}", "warning")

    def _writable(self, stable: Rendered, *, exact: bool) -> Sequence[int]:
        """What of `stable` the KV holds and may go to disk.

        Tokens of tier E2 wait until they are healed. Where nothing is ever healed or moved they came from int8, and
        may go back there.
        """
        engine = self.runtime.engine
        moved = engine.ledger.first_of("E2") if exact or engine.cache.can_move else None
        end = engine.ledger.shared(stable.ids)
        return stable.ids[: end if moved is None else min(end, moved)]

    def _is_worth(self, ids: Sequence[int], at: int) -> bool:
        cache = self.runtime.engine.cache
        return len(ids) - at >= LEAST_TOKENS and (cache.can_move or bool(cache.states_at(len(ids))))

    def _write(self, name: str, parent: str, at: int, ids: Sequence[int], session_id: str) -> None:
        store = self.context.store
        if name in self._known:
            return
        readable = (name, name + INT8) if self.fidelity.reads_int8() else (name,)
        kept = [form for form in readable if store.has_block(form, parent, self.fingerprint, ids)]
        if not kept:
            form = name + INT8 if self.fidelity.writes_int8() else name
            self._require_space(len(ids) * self.runtime.engine.loaded.bytes_per_token)
            began = time.perf_counter()
            payload = packed(self.runtime.engine.cache, form, at, at + len(ids))
            store.put_block(form, parent, self.fingerprint, ids, payload, session_id)
            self.written_bytes += len(payload)
            self.written_s += time.perf_counter() - began
            covered = [
                block.name
                for block in store.block_children(parent, self.fingerprint)
                if len(block.ids) < len(ids) and tuple(ids[: len(block.ids)]) == block.ids
            ]
            if covered and self.runtime.engine.cache.can_move:
                store.forget_blocks(covered)
            self.finder.save_rates()
        else:
            store.use_blocks(session_id, kept)
        self._known.add(name)

    def _require_space(self, n_bytes: int) -> None:
        """Make room under the cap. Raises `StoreError` where the disk itself has none."""
        store = self.context.store
        free = shutil.disk_usage(store.file.parent).free
        kept = store.block_totals()[1]
        most = disk_bytes(self.runtime.kv_on_disk, free_bytes=free + kept)
        if kept + n_bytes > most:
            store.evict_blocks(max(0, most - n_bytes))
        if free < n_bytes + _SPARED_BYTES:
            raise StoreError("the disk is nearly full.", "Free some space, or set store.kv lower.")

    # ── parts ────────────────────────────────────────────────────────────────────────────────────────────

    def _forget(self, block: BlockRecord) -> None:
        self._known.discard(exact_name(block.name))
        with contextlib.suppress(StoreError):
            self.context.store.forget_blocks([block.name])

    def _note_use(self, names: Sequence[str]) -> None:
        if self.context.record is not None:
            with contextlib.suppress(StoreError):
                self.context.store.use_blocks(self.context.record.id, names)
                self.finder.save_rates()
