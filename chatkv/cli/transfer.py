"""`chatkv sessions export` and `import`: conversations to files and back, and in from other programs."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from chatkv.cli.stored import line, store_of
from chatkv.errors import UsageError

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings
    from chatkv.transfer import Arrival, Plan
    from chatkv.transfer.reading import Format

_IMPORTED = ["auto", "chatkv", "markdown", "chatgpt", "llm", "sharegpt"]
_MARKDOWN_ENDINGS = (".md", ".markdown")
_ALL = 1 << 40
_SAID = {"new": "imported", "copy": "copied", "unchanged": "unchanged", "twice": "twice in it"}


@click.command("export")
@click.argument("sessions", nargs=-1, metavar="SESSION...")
@click.option("--all", "every", is_flag=True, help="Every conversation.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "markdown"]),
    help="json (default) loses nothing; markdown is the branch in use, to read.",
)
@click.option("-o", "--output", metavar="FILE|FOLDER", help="Default: stdout.")
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@click.pass_obj
def export_command(
    settings: Settings,
    sessions: tuple[str, ...],
    every: bool,
    format_: Literal["json", "markdown"] | None,
    output: str | None,
    force: bool,
) -> None:
    """Write conversations to a file, or one file each to a folder. SESSION is an id, its beginning, or "last"."""
    from chatkv.transfer import export_sessions

    if bool(sessions) == every:
        raise UsageError("Say which sessions to export, or --all.", "`chatkv sessions` lists them.")
    target = None if output in (None, "-") else Path(str(output))
    into_folder = target is not None and (target.is_dir() or str(output).endswith(("/", os.sep)))
    named_so = target is not None and target.suffix.lower() in _MARKDOWN_ENDINGS
    chosen: Literal["json", "markdown"] = format_ or ("markdown" if named_so else "json")
    with store_of(settings) as store:
        records = store.list_sessions(_ALL) if every else [store.resolve(wanted) for wanted in sessions]
        records = list({record.id: record for record in records}.values())
        files = export_sessions(
            store, records, chosen, target, _write, _warn, into_folder=into_folder, force=force
        )
    if target is not None:
        count = f"{len(records):,} conversation{'' if len(records) == 1 else 's'}"
        where = str(target) if into_folder else ", ".join(map(str, files))
        click.echo(f"Exported {count} to {where}.", err=True)


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "--format", "format_", type=click.Choice(_IMPORTED), default="auto", help="Default: what it looks like."
)
@click.option(
    "--on-error",
    type=click.Choice(["skip", "stop"]),
    default="skip",
    show_default=True,
    help="What cannot be read: pass over it, or import nothing at all.",
)
@click.option(
    "--copy", is_flag=True, help="Import what differs from a session here beside it, under a new id."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def import_command(
    settings: Settings,
    files: tuple[Path, ...],
    format_: str,
    on_error: str,
    copy: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take in conversations from files.

    They may be from chatkv (JSON, Markdown), ChatGPT (conversations.json, or the zip it came in), llm (logs.db) or
    ShareGPT (JSON, JSON Lines). What is here already is not imported again.
    """
    from chatkv.transfer import plan_import, write_plan

    wanted: Format | None = None if format_ == "auto" else format_  # type: ignore[assignment]
    with ExitStack() as stack:
        there = settings.config().database(settings.paths()).exists()
        store = stack.enter_context(store_of(settings)) if there or not dry_run else None
        plan = plan_import(files, store, time.time(), wanted=wanted, copy=copy)
        stopped = on_error == "stop" and bool(plan.faults)
        if store is not None and plan.wholes and not dry_run and not stopped:
            write_plan(plan, store, at_once=on_error == "stop")
    _report(plan, dry_run=dry_run, stopped=stopped, as_json=as_json)
    if stopped:
        raise UsageError(f"Nothing was imported: {_problems(plan)}.", "--on-error skip imports the rest.")
    if plan.faults and not plan.wholes:
        raise UsageError(f"Nothing was imported: {_problems(plan)}.")


def _problems(plan: Plan) -> str:
    return f"{len(plan.faults):,} problem{'' if len(plan.faults) == 1 else 's'}"


def _report(plan: Plan, *, dry_run: bool, stopped: bool, as_json: bool) -> None:
    taken = [] if stopped else plan.arrivals
    if as_json:
        lists: dict[str, Iterable[object]] = {
            "conversations": taken,
            "faults": plan.faults,
            "notes": plan.notes,
        }
        rows = {name: [asdict(item) for item in items] for name, items in lists.items()}  # type: ignore[call-overload]
        print(json.dumps({"dry_run": dry_run, "stopped": stopped, **rows}))
        return
    for arrival in taken:
        click.echo(_told(arrival))
    for note in plan.notes:
        _warn(f"{note.file}: {note.n:,} × {note.what}")
    for fault in plan.faults:
        click.secho(line(str(fault)), err=True, fg="red")
    n_taken = len(taken) and len(plan.wholes)
    would = "would be " if dry_run else ""
    if not stopped and plan.wholes:
        _warn(f"{n_taken:,} conversation{'' if n_taken == 1 else 's'} {would}imported.")


def _told(arrival: Arrival) -> str:
    count = f"{arrival.n_messages:5}"
    return f"{arrival.session_id}  {_SAID[arrival.outcome]:11} {count}  {line(arrival.title) or '(untitled)'}"


def _write(piece: str) -> None:
    sys.stdout.buffer.write(piece.encode())


def _warn(text: str) -> None:
    click.echo(line(text), err=True)
