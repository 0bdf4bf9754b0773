"""`chatkv sessions`: list, show, search, rename and delete what is stored. Needs no model."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from chatkv.errors import UsageError

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings
    from chatkv.store import Store


@click.group("sessions", invoke_without_command=True)
@click.option(
    "-n", "--limit", default=20, show_default=True, type=click.IntRange(min=1), help="How many to list."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def command(ctx: click.Context, limit: int, as_json: bool) -> None:
    """List conversations, newest first; or show, search, rename, delete them."""
    if ctx.invoked_subcommand is not None:
        return
    with _store(ctx.obj) as store:
        records = store.list_sessions(limit)
    for record in records:
        if as_json:
            print(json.dumps(asdict(record)))
        else:
            print(
                f"{record.id}  {_when(record.updated_at)}  {record.n_messages:5}  {_line(record.title) or '(untitled)'}"
            )
    if not records and not as_json:
        click.echo("No sessions yet. `chatkv` starts one.", err=True)


@command.command()
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="One JSON object with messages and turns.")
@click.pass_obj
def show(settings: Settings, session: str, as_json: bool) -> None:
    """Print a conversation. SESSION is an id, its beginning, or "last"."""
    with _store(settings) as store:
        record = store.resolve(session)
        path = store.path(record.leaf_id) if record.leaf_id is not None else []
        turns, summaries = store.turns(record.id), store.summaries(record.id)
        documents, pins = store.documents(record.id), store.pins(record.id)
        carried_into = [later.id for later in store.carried_into(record.id)]
    if as_json:
        lists: dict[str, Sequence[Any]] = {
            "messages": path,
            "turns": turns,
            "summaries": summaries,
            "documents": documents,
        }
        rows = {name: [asdict(item) for item in items] for name, items in lists.items()}
        print(json.dumps({**asdict(record), **rows, "pins": sorted(pins), "carried_into": carried_into}))
        return
    print(f"# {_line(record.title)}\n")
    links = [("goes on from", [record.carried_from or ""]), ("goes on in", carried_into)]
    for word, ids in links:
        if any(ids):
            print(f"({word} {', '.join(ids)})\n")
    for document in documents:
        print(f"(document: {_line(document.name)}, {document.n_chars:,} characters)\n")
    standing = {summary.upto_id: summary for summary in summaries}
    for message in path:
        mark = "" if message.status == "complete" else f" ({message.status})"
        pinned = " (pinned)" if message.id in pins else ""
        print(f"## {message.role}{mark}{pinned}\n\n{_encodable(message.text)}\n")
        if message.id in standing and standing[message.id].text:
            print(f"## summary up to here\n\n{_encodable(standing[message.id].text)}\n")


@command.command()
@click.argument("words", nargs=-1, required=True)
@click.option(
    "-n", "--limit", default=20, show_default=True, type=click.IntRange(min=1), help="How many to list."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_obj
def search(settings: Settings, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Find messages that hold all the words; the last one may be a beginning."""
    with _store(settings) as store:
        hits = store.search(" ".join(words), limit=limit)
    for hit in hits:
        if as_json:
            print(json.dumps(asdict(hit)))
        else:
            print(f"{hit.session_id}  {hit.role:9}  {_line(hit.snippet)}")
    if not hits and not as_json:
        click.echo("Nothing found.", err=True)


@command.command()
@click.argument("session")
@click.argument("title", nargs=-1, required=True)
@click.pass_obj
def rename(settings: Settings, session: str, title: tuple[str, ...]) -> None:
    """Give a conversation another title."""
    with _store(settings) as store:
        store.rename(store.resolve(session).id, " ".join(title))


@command.command()
@click.argument("session")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(settings: Settings, session: str, yes: bool) -> None:
    """Delete a conversation with all its branches. Asks first."""
    with _store(settings) as store:
        record = store.resolve(session)
        question = f"Delete “{_line(record.title)}” with {record.n_messages} messages?"
        try:
            agreed = yes or click.confirm(question, err=True)
        except click.Abort as abort:
            raise UsageError(
                "Nobody answered; nothing was deleted.", "Use --yes where nobody can."
            ) from abort
        if agreed:
            store.delete(record.id)


@contextmanager
def _store(settings: Settings) -> Iterator[Store]:
    from chatkv.store import Store

    with Store.open(settings.config().database(settings.paths())) as store:
        yield store


def _when(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def _line(text: str) -> str:
    """One inert line: control characters of stored text are not for the terminal to obey."""
    return "".join(c if c.isprintable() else " " for c in _encodable(text))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
