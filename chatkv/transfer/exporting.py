"""Sessions out of the store into text: one file, one a session, or a stream. One session is in memory at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from chatkv.paths import private_folder
from chatkv.store import SessionRecord, Store, Whole
from chatkv.transfer.envelope import envelope_of
from chatkv.transfer.files import require_free, write_whole
from chatkv.transfer.markdown import left_out, markdown_of

OutFormat = Literal["json", "markdown"]
Say = Callable[[str], None]
_ENDINGS: dict[OutFormat, str] = {"json": ".json", "markdown": ".md"}
_SLUG_CHARS = 40


def export_sessions(
    store: Store,
    records: Sequence[SessionRecord],
    format: OutFormat,
    target: Path | None,
    sink: Callable[[str], object],
    say: Say,
    *,
    into_folder: bool = False,
    force: bool = False,
) -> list[Path]:
    """Write `records` to `target`, or to `sink` for None; the files written. `say` hears what Markdown leaves out.

    Raises `UsageError` if a file is there already, unless `force`; then nothing is written.
    """
    if target is None:
        for piece in _text(store, records, format, say):
            sink(piece)
        return []
    if not into_folder:
        write_whole(target, _text(store, records, format, say), force=force)
        return [target]
    files = [target / _name(record, format) for record in records]
    for file in files:
        require_free(file, force=force)
    private_folder(target)
    for record, file in zip(records, files, strict=True):
        write_whole(file, _text(store, [record], format, say), force=force)
    return files


def _text(store: Store, records: Sequence[SessionRecord], format: OutFormat, say: Say) -> Iterator[str]:
    wholes = (store.whole(record.id) for record in records)
    return envelope_of(wholes) if format == "json" else _markdown(wholes, say)


def _markdown(wholes: Iterable[Whole], say: Say) -> Iterator[str]:
    for n, whole in enumerate(wholes):
        yield "\n" if n else ""
        yield from markdown_of(whole)
        if missing := left_out(whole):
            say(f"{whole.session['id']}: not in Markdown: {missing}. JSON has everything.")


def _name(record: SessionRecord, format: OutFormat) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", record.title.lower())[:_SLUG_CHARS].strip("-")
    return f"{record.id}{'-' if slug else ''}{slug}{_ENDINGS[format]}"
