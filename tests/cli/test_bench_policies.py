"""`chatkv bench policies`: each policy on one conversation, figures that add up, and the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from processes import Run

from chatkv.bench.again import Again
from chatkv.bench.policies import best_of
from chatkv.tokens import Segment

NAMES = ("summary", "window", "sinks", "attended")
BUDGET = "350 KiB"


def planted() -> dict[str, Any]:
    turns = [f"My boat number {n} lies in the harbour of Lisbon, berth {n * 37}." for n in range(24)]
    turns[1] = "My name is Maren Holtzer."
    turns[3] = "My tortoise is called Shelly."
    turns[9] = "My tortoise got another name: it is Trudy now."
    facts = [
        {"turn": 2, "kind": "name", "question": "What is my name?", "value": "Maren Holtzer"},
        {
            "turn": 10,
            "kind": "name",
            "question": "What is the name of my tortoise?",
            "value": "Trudy",
            "superseded": [{"turn": 4, "value": "Shelly"}],
        },
        {"turn": 24, "kind": "number", "question": "Where is boat 23?", "value": "851"},
    ]
    return {"system": "be kind", "turns": turns, "facts": facts}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(planted()), encoding="utf-8")
    return path


def bench(run: Run, file: Path, *more: str) -> Any:
    done = run("bench", "policies", "--file", str(file), "--kv-budget", BUDGET, "--reply", "4", *more)
    assert done.returncode == 0, done.stderr
    return done


def rows(done: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_policy_has_a_row_whose_figures_add_up(run: Run, file: Path) -> None:
    *found, verdict = rows(bench(run, file, "--json"))
    assert tuple(row["policy"] for row in found) == NAMES
    for row in found:
        assert row["facts"] == 3 == row["facts_held"] + row["facts_only_superseded"] + row["facts_missing"]
        assert len(row["missed"]) == 3 - row["facts_held"]
        assert row["where"]["window"] >= 1, "the last turn stands verbatim"
        assert sum(row["where"].values()) >= row["facts_held"]
        assert (row["where"]["summary"] == 0) == (row["policy"] in ("window", "sinks")), row["where"]
        assert 0 <= row["reprefilled"] <= row["prefilled"]
        assert row["compactions"] >= 1
        assert 0 < row["kv_peak_reserved_bytes"] <= row["kv_budget_bytes"] <= 350 * 1024
        assert row["ppl_recent"] > 1
        assert row["ppl_next"] > 1
    held = {row["policy"]: row["facts_held"] for row in found}
    assert held[verdict["best"]] == max(held.values())


def test_without_recall_nothing_is_found_in_recalled_text(run: Run, file: Path) -> None:
    row, verdict = rows(bench(run, file, "--policy", "window", "--no-recall", "--json"))
    assert (row["recall"], row["recalled"], row["where"]["recalled"]) == (False, 0, 0)
    assert row["facts_held"] == 1
    assert [missed["turn"] for missed in row["missed"]] == [2, 10]
    assert verdict == {"best": "window", "by": "nothing", "level": []}


def test_the_table_for_people(run: Run, file: Path) -> None:
    heading, row, verdict = bench(run, file, "--policy", "window", "--no-recall").stdout.splitlines()
    assert heading.split()[:3] == ["policy", "facts_held", "facts_only_superseded"]
    assert row.split()[:5] == ["window", "1", "0", "2", "0/1/0"]
    assert json.loads(verdict)["best"] == "window"


def test_an_unknown_policy_is_a_usage_error(run: Run) -> None:
    done = run("bench", "policies", "--policy", "hoard")
    assert done.returncode == 2
    assert "hoard" in done.stderr
    assert "Traceback" not in done.stderr


def figures(policy: str, held: int, superseded: int = 0, stalls: int = 0, ppl: float = 9.0) -> dict[str, Any]:
    counts = {"facts_held": held, "facts_only_superseded": superseded, "stalls": stalls, "ppl_next": ppl}
    return {"policy": policy, **counts}


@pytest.mark.parametrize(
    ("found", "best", "by"),
    [
        ([figures("a", 3), figures("b", 5), figures("c", 4)], "b", "facts_held"),
        ([figures("a", 5, 1), figures("b", 5, 0), figures("c", 4)], "b", "facts_only_superseded"),
        ([figures("a", 5, ppl=8.5), figures("b", 5, ppl=8.0), figures("c", 5, stalls=1)], "b", "ppl_next"),
        ([figures("a", 5), figures("b", 5)], "a", "nothing"),
    ],
)
def test_the_best_is_ahead_in_the_first_figure_that_differs(
    found: list[dict[str, Any]], best: str, by: str
) -> None:
    verdict = best_of(found)
    assert (verdict["best"], verdict["by"]) == (best, by)


def held(*runs: tuple[str, int, int]) -> list[Segment]:
    return [Segment(kind, turn, n_tokens) for kind, turn, n_tokens in runs]


def test_what_was_read_before_is_told_from_what_is_new() -> None:
    again = Again()
    first = held(("system", 0, 4), ("user", 1, 3), ("answer", 1, 5))
    again.turn(range(12), first, 1, prefilled=7, decoded=5)
    assert (again.first, again.again) == (7, 0)

    second = held(("system", 0, 4), ("user", 1, 3), ("thought", 1, 2), ("answer", 1, 4), ("user", 2, 6))
    again.turn(range(21), [*second, *held(("answer", 2, 2))], 2, prefilled=7, decoded=2)
    assert (again.first, again.again) == (14, 0), "an end token was prefilled, and the message"

    compacted = held(("system", 0, 4), ("summary", 0, 5), ("user", 2, 6), ("answer", 2, 2), ("user", 3, 1))
    ids = [*range(4), *range(50, 55), *range(15, 23), 9]
    again.turn(ids, compacted, 3, prefilled=5 + 8 + 1, decoded=0)
    assert (again.first, again.again) == (20, 8), "turn 2 was read again"

    later = held(("system", 0, 4), ("summary", 0, 6), ("user", 3, 1), ("user", 4, 1))
    again.turn([*range(4), 50, 51, 90, 91, 92, 93, 9, 8], later, 4, prefilled=5, decoded=0)
    assert again.first == 20 + 4 + 1, "two tokens of the new summary are those of the old one"
    assert again.again == 8
