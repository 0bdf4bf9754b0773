"""`chatkv cache`: the KV that is kept on disk. Needs no model."""

from __future__ import annotations

import json
import math
import shutil
import time
from typing import TYPE_CHECKING

import click

from chatkv.cli.stored import line, store_of
from chatkv.errors import DamagedBlockError

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings
    from chatkv.store import Store, Verdict

_MOST_SESSIONS = 10
_WRITING_S = 60.0


@click.group("cache", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show, check or clear the KV on disk, with which sessions resume without reading everything again."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@command.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def show(settings: Settings, as_json: bool) -> None:
    """Say how much is kept, for which sessions, and how much may be."""
    with store_of(settings) as store:
        n_blocks, n_bytes = store.block_totals()
        most = _most(settings, store, n_bytes)
        usage = store.block_usage(_MOST_SESSIONS)
        folder, verdicts = store.block_folder, store.verdicts()
    if as_json:
        sessions = [{"id": i, "title": t, "blocks": n, "bytes": size} for i, t, n, size in usage]
        totals = {"folder": str(folder), "blocks": n_blocks, "bytes": n_bytes, "limit_bytes": most}
        print(json.dumps({**totals, "sessions": sessions, "int8": [_figures(found) for found in verdicts]}))
        return
    print(f"folder  {folder}")
    print(f"kept    {n_blocks:,} blocks, {_size(n_bytes)} of {_size(most)} that `store.kv` allows")
    for session, title, blocks, size in usage:
        print(f"  {session}  {blocks:5,} blocks  {_size(size):>10}  {line(title)[:60]}")
    for found in verdicts:
        says = "allowed" if found.allowed else "refused"
        print(
            f"int8    {says} for {line(found.model)[:60]}: {found.kl:.2g} nats, "
            f"{found.agreement:.1%} equal first choices over {found.n_tokens} tokens"
        )


@command.command()
@click.option("--all", "everything", is_flag=True, help="Delete all of it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def prune(settings: Settings, everything: bool, as_json: bool) -> None:
    """Delete what no session uses, what a dead process left, and what is over the limit, least used first."""
    with store_of(settings) as store:
        before = store.block_totals()[1]
        n_unused = store.drop_unused_blocks()
        n_strays = _sweep(store)
        kept = store.block_totals()[1]
        store.evict_blocks(0 if everything else _most(settings, store, kept))
        after = store.block_totals()[1]
    if as_json:
        print(
            json.dumps(
                {"freed_bytes": before - after, "unused": n_unused, "strays": n_strays, "bytes": after}
            )
        )
    else:
        print(f"Freed {_size(before - after)}; {_size(after)} are kept.")


@command.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def verify(settings: Settings, as_json: bool) -> None:
    """Read every block; delete those that are not what was written. What they held is computed again when needed."""
    damaged = []
    with store_of(settings) as store:
        blocks = store.all_blocks()
        for block in blocks:
            try:
                store.read_block(block)
            except DamagedBlockError:
                damaged.append(block.name)
        store.forget_blocks(damaged)
        n_strays = _sweep(store)
    if as_json:
        print(json.dumps({"blocks": len(blocks), "damaged": damaged, "strays": n_strays}))
    else:
        print(
            f"{len(blocks):,} blocks read: {len(damaged)} damaged and deleted, {n_strays} stray files deleted."
        )


def _figures(found: Verdict) -> dict[str, object]:
    # JSON has no infinity.
    kl = found.kl if math.isfinite(found.kl) else None
    figures = {"allowed": found.allowed, "kl": kl, "agreement": found.agreement, "tokens": found.n_tokens}
    return {"model": line(found.model), **figures}


def _sweep(store: Store) -> int:
    # What is a moment old may be a block that another process is writing.
    strays = [file for file in store.stray_files() if time.time() - file.stat().st_mtime > _WRITING_S]
    for file in strays:
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink(missing_ok=True)
    return len(strays)


def _most(settings: Settings, store: Store, kept: int) -> int:
    from chatkv.memory.budget import disk_bytes

    free = shutil.disk_usage(store.file.parent).free
    return disk_bytes(settings.config().store.kv, free_bytes=free + kept)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.2f} GiB" if n_bytes >= 1 << 30 else f"{n_bytes / 2**20:.1f} MiB"
