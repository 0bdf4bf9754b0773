"""`chatkv bench`: measure this machine on the product's own code paths. The last line is the totals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from chatkv.cli.settings import Settings

_COLUMNS = ("turn", "reused", "prefilled_early", "prefilled", "decoded", "ttft_s", "tpot_s", "kv_tokens")
_POLICY_COLUMNS = (
    "policy",
    "facts_held",
    "facts_only_superseded",
    "facts_missing",
    "where",
    "ppl_recent",
    "ppl_next",
    "prefilled",
    "prefilled_early",
    "reprefilled",
    "compactions",
    "stalls",
    "ttft_median_s",
    "ttft_worst_s",
    "kv_peak_reserved_bytes",
    "wall_s",
)


@click.group("bench")
def command() -> None:
    """Measure turns, recall, memory, compaction, coming back, and prefill as you type."""


@command.command()
@click.option(
    "--file", "file", required=True, type=click.Path(path_type=Path), help='{"system": "…", "turns": ["…"]}'
)
@click.option(
    "--reply", default=64, show_default=True, type=click.IntRange(min=1), help="Longest answer, in tokens."
)
@click.option("--cold", is_flag=True, help="Forget the KV before each turn, as tools without a live KV do.")
@click.option(
    "--repeat", default=1, show_default=True, type=click.IntRange(min=1), help="Say it all so often."
)
@click.option("--kv-budget", "budget", default=None, help='`memory.budget` for this run, e.g. "24MiB".')
@click.option(
    "--idle",
    "idle_s",
    default=None,
    type=click.FloatRange(min=0),
    help="Seconds between turns; else until idle.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object a turn; the last line holds the totals."
)
@click.pass_obj
def turns(
    settings: Settings,
    file: Path,
    reply: int,
    cold: bool,
    repeat: int,
    budget: str | None,
    idle_s: float | None,
    as_json: bool,
) -> None:
    """Hold a scripted conversation, greedily, and show what each turn cost."""
    from chatkv.bench.turns import Drive, read_script, run_turns
    from chatkv.config import changed

    script, config = read_script(file), settings.config()
    if budget is not None:
        config = changed(config, "memory.budget", budget)
    if not as_json:
        print("  ".join(f"{name:>15}" for name in _COLUMNS))
    for row in run_turns(config, settings.paths(), script, Drive(reply, cold, repeat, idle_s)):
        print(json.dumps(row) if as_json else _row(row), flush=True)


@command.command()
@click.option(
    "--data", "data", required=True, type=click.Path(path_type=Path), help="Conversations with questions."
)
@click.option(
    "--budget", default=1024, show_default=True, type=click.IntRange(min=1), help="Tokens recalled at most."
)
@click.option(
    "--messages", default=0, type=click.IntRange(min=0), help="Fill each archive up to so many messages."
)
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object a conversation; the last line holds the totals."
)
@click.pass_obj
def recall(settings: Settings, data: Path, budget: int, messages: int, as_json: bool) -> None:
    """Archive conversations, ask about them, and show what share of the evidence is recalled."""
    from chatkv.bench.recall import read_conversations, run_recall

    conversations = read_conversations(data)
    rows = run_recall(settings.config(), settings.paths(), conversations, budget=budget, messages=messages)
    for row in rows:
        print(json.dumps(row) if as_json else "  ".join(f"{k}={v}" for k, v in row.items()), flush=True)


@command.command()
@click.option(
    "--policy", "policies", multiple=True, help="`summary`, `window`, `sinks`, `attended`; else all."
)
@click.option(
    "--file", "file", default=None, type=click.Path(path_type=Path), help="Planted facts of your own."
)
@click.option(
    "--kv-budget", "budget", default="24MiB", show_default=True, help="`memory.budget` for this run."
)
@click.option(
    "--reply", default=32, show_default=True, type=click.IntRange(min=1), help="Longest answer, in tokens."
)
@click.option(
    "--idle",
    "idle_s",
    default=None,
    type=click.FloatRange(min=0),
    help="Seconds between turns; else until idle.",
)
@click.option("--recall/--no-recall", default=True, show_default=True, help="Whether the archive is asked.")
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object a policy; the last line says which is best."
)
@click.pass_obj
def policies(
    settings: Settings,
    policies: tuple[str, ...],
    file: Path | None,
    budget: str,
    reply: int,
    idle_s: float | None,
    recall: bool,
    as_json: bool,
) -> None:
    """Hold a conversation with planted facts under each policy of memory, and show what is left of them."""
    from chatkv.bench.facts import PLANTED, load
    from chatkv.bench.policies import Trial, run_policies
    from chatkv.config import changed

    config = changed(changed(settings.config(), "memory.budget", budget), "memory.recall", recall)
    for name in policies:
        changed(config, "memory.policy", name)
    trial = Trial(reply=reply, idle_s=idle_s)
    trial = replace(trial, policies=policies or trial.policies)
    if not as_json:
        print("  ".join(f"{_heading(name):>{len(_heading(name))}}" for name in _POLICY_COLUMNS))
    for row in run_policies(config, settings.paths(), load(file or PLANTED), trial):
        print(json.dumps(row) if as_json else _policy_row(row), flush=True)


@command.command()
@click.option(
    "--tokens", default=2048, show_default=True, type=click.IntRange(min=64), help="Length of the KV."
)
@click.option(
    "--runs", default=3, show_default=True, type=click.IntRange(min=1), help="Compactions; times are medians."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a compaction, then the totals.")
@click.pass_obj
def swap(settings: Settings, tokens: int, runs: int, as_json: bool) -> None:
    """Compact a KV of so many tokens: what it costs, and how exact it is before, after and once healed."""
    from chatkv.bench.swap import run_swap

    for row in run_swap(settings.config(), settings.paths(), tokens=tokens, runs=runs):
        print(json.dumps(row) if as_json else "  ".join(f"{k}={v}" for k, v in row.items()), flush=True)


@command.command()
@click.option(
    "--tokens", default=4000, show_default=True, type=click.IntRange(min=300), help="Length of the KV."
)
@click.option(
    "--runs", default=3, show_default=True, type=click.IntRange(min=1), help="Process starts of each kind."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a part; the last one holds ratios.")
@click.pass_obj
def resume(settings: Settings, tokens: int, runs: int, as_json: bool) -> None:
    """Hold a conversation, leave it, come back: what reading its KV from disk costs, and what it saves."""
    from chatkv.bench.resume import run_resume

    for row in run_resume(settings.config(), settings.paths(), tokens=tokens, runs=runs):
        shown = row if as_json else {name: value for name, value in row.items() if name != "answer"}
        print(json.dumps(row) if as_json else "  ".join(f"{k}={v}" for k, v in shown.items()), flush=True)


@command.command()
@click.option(
    "--tokens", default=1000, show_default=True, type=click.IntRange(min=32), help="Length of the paste."
)
@click.option(
    "--rest",
    "rest_s",
    default=3.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Seconds from paste to Enter.",
)
@click.option(
    "--runs", default=3, show_default=True, type=click.IntRange(min=1), help="Rounds of each; medians."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a round, then the totals.")
@click.pass_obj
def draft(settings: Settings, tokens: int, rest_s: float, runs: int, as_json: bool) -> None:
    """Paste a text, read it over, send it: what is left to read at Enter with prefill as you type, and without."""
    from chatkv.bench.draft import run_draft

    for row in run_draft(settings.config(), settings.paths(), tokens=tokens, rest_s=rest_s, runs=runs):
        print(json.dumps(row) if as_json else "  ".join(f"{k}={v}" for k, v in row.items()), flush=True)


def _policy_row(row: dict[str, Any]) -> str:
    if "policy" not in row:
        return json.dumps(row)
    places = row["where"]
    shown = {**row, "where": "/".join(str(places[place]) for place in ("summary", "window", "recalled"))}
    return "  ".join(f"{_cell(shown[name]):>{len(_heading(name))}}" for name in _POLICY_COLUMNS)


def _heading(name: str) -> str:
    return {"policy": "  policy", "where": "summary/window/recalled"}.get(name, name.removesuffix("_bytes"))


def _row(row: dict[str, Any]) -> str:
    if "turn" not in row:
        return json.dumps(row)
    return "  ".join(f"{_cell(row[name]):>15}" for name in _COLUMNS)


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "–" if value is None else str(value)
