"""`chatkv sessions`: list, show, search, rename, delete, export and import what is stored. Needs no model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from chatkv.cli.stored import encodable, line, store_of, when
from chatkv.cli.transfer import export_command, import_command
from chatkv.errors import UsageError

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings
    from chatkv.store import SearchHit


_INDEXED_AT_ONCE = 2000


@click.group("sessions", invoke_without_command=True)
@click.option(
    "-n", "--limit", default=20, show_default=True, type=click.IntRange(min=1), help="How many to list."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def command(ctx: click.Context, limit: int, as_json: bool) -> None:
    """List conversations, newest first; or show, search, rename, delete, export, import them."""
    if ctx.invoked_subcommand is not None:
        return
    with store_of(ctx.obj) as store:
        records = store.list_sessions(limit)
    for record in records:
        if as_json:
            print(json.dumps(asdict(record)))
        else:
            print(
                f"{record.id}  {when(record.updated_at)}  {record.n_messages:5}  {line(record.title) or '(untitled)'}"
            )
    if not records and not as_json:
        click.echo("No sessions yet. `chatkv` starts one.", err=True)


@command.command()
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="One JSON object with messages and turns.")
@click.pass_obj
def show(settings: Settings, session: str, as_json: bool) -> None:
    """Print a conversation. SESSION is an id, its beginning, or "last"."""
    with store_of(settings) as store:
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
    print(f"# {line(record.title)}\n")
    links = [("goes on from", [record.carried_from or ""]), ("goes on in", carried_into)]
    for word, ids in links:
        if any(ids):
            print(f"({word} {', '.join(ids)})\n")
    for document in documents:
        print(f"(document: {line(document.name)}, {document.n_chars:,} characters)\n")
    standing = {summary.upto_id: summary for summary in summaries}
    for message in path:
        mark = "" if message.status == "complete" else f" ({message.status})"
        pinned = " (pinned)" if message.id in pins else ""
        print(f"## {message.role}{mark}{pinned}\n\n{encodable(message.text)}\n")
        if message.id in standing and standing[message.id].text:
            print(f"## summary up to here\n\n{encodable(standing[message.id].text)}\n")


@command.command()
@click.argument("words", nargs=-1, required=True)
@click.option(
    "-n", "--limit", default=20, show_default=True, type=click.IntRange(min=1), help="How many to list."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_obj
def search(settings: Settings, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Find messages and titles that hold all the words, or pieces of them."""
    with store_of(settings) as store:
        while store.n_unindexed() and (n_left := store.index_some(_INDEXED_AT_ONCE)):
            click.echo(f"Indexing: {n_left:,} messages left", err=True)
        hits = store.search(" ".join(words), limit=limit)
    for hit in hits:
        if as_json:
            print(json.dumps(asdict(hit)))
        else:
            click.echo(f"{hit.session_id}  {hit.role:9}  {_marked(hit)}")
    if not hits and not as_json:
        click.echo("Nothing found.", err=True)


@command.command()
@click.argument("session")
@click.argument("title", nargs=-1, required=True)
@click.pass_obj
def rename(settings: Settings, session: str, title: tuple[str, ...]) -> None:
    """Give a conversation another title."""
    with store_of(settings) as store:
        store.rename(store.resolve(session).id, " ".join(title))


@command.command()
@click.argument("session")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(settings: Settings, session: str, yes: bool) -> None:
    """Delete a conversation with all its branches. Asks first."""
    with store_of(settings) as store:
        record = store.resolve(session)
        question = f"Delete “{line(record.title)}” with {record.n_messages} messages?"
        try:
            agreed = yes or click.confirm(question, err=True)
        except click.Abort as abort:
            raise UsageError(
                "Nobody answered; nothing was deleted.", "Use --yes where nobody can."
            ) from abort
        if agreed:
            store.delete(record.id)


def _marked(hit: SearchHit) -> str:
    """The snippet with its matches marked; `click.echo` drops the marks where no terminal reads them."""
    text, pieces, end = line(hit.snippet), [], 0
    for low, high in hit.spans:
        pieces += [text[end:low], click.style(text[low:high], bold=True, reverse=True)]
        end = high
    return "".join([*pieces, text[end:]])


command.add_command(export_command)
command.add_command(import_command)
