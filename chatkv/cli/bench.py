"""`chatkv bench`: measure this machine on the product's own code paths. The last line is the totals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings

_COLUMNS = ("turn", "reused", "prefilled_early", "prefilled", "decoded", "ttft_s", "tpot_s", "kv_tokens")


@click.group("bench")
def command() -> None:
    """Measure turns."""


@command.command()
@click.option(
    "--file", "file", required=True, type=click.Path(path_type=Path), help='{"system": "…", "turns": ["…"]}'
)
@click.option(
    "--reply", default=64, show_default=True, type=click.IntRange(min=1), help="Longest answer, in tokens."
)
@click.option("--cold", is_flag=True, help="Forget the KV before each turn, as tools without a live KV do.")
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object a turn; the last line holds the totals."
)
@click.pass_obj
def turns(settings: Settings, file: Path, reply: int, cold: bool, as_json: bool) -> None:
    """Hold a scripted conversation, greedily, and show what each turn cost."""
    from chatkv.bench.turns import read_script, run_turns

    script = read_script(file)
    if not as_json:
        print("  ".join(f"{name:>15}" for name in _COLUMNS))
    for row in run_turns(settings.config(), settings.paths(), script, reply=reply, cold=cold):
        print(json.dumps(row) if as_json else _row(row), flush=True)


def _row(row: dict[str, Any]) -> str:
    if "turn" not in row:
        return json.dumps(row)
    return "  ".join(f"{_cell(row[name]):>15}" for name in _COLUMNS)


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "–" if value is None else str(value)
