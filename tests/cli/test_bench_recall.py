"""`chatkv bench recall`: what it reports on a small file, and what it says of a wrong one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from processes import Run

from chatkv.bench.recall import read_conversations
from chatkv.errors import UsageError

TIMES = ("1:56 pm on 8 May, 2023", "9:10 am on 2 June, 2023")


def conversation() -> dict[str, Any]:
    spoken = [
        ("Ann", "I adopted a tortoise called Shelly."),
        ("Bob", "A tortoise! How old is it?"),
        *[("Ann", f"Plain talk number {n}.") for n in range(8)],
        ("Bob", "My brother Karl moved to Lisbon."),
        ("Ann", "Lisbon is lovely."),
    ]
    turns = [
        {"id": f"D{n}", "speaker": speaker, "time": TIMES[n // 6], "text": text}
        for n, (speaker, text) in enumerate(spoken)
    ]
    questions = [
        {"question": "What did Ann name the tortoise?", "answer": "Shelly", "evidence": ["D0"]},
        {"question": "Where did Karl move to?", "evidence": ["D10", "D11"]},
        {"question": "Who plays the bassoon?", "evidence": ["D1", "D11"]},
        {"question": "Asked without evidence.", "evidence": []},
    ]
    return {"conversation": "one", "turns": turns, "questions": questions}


def rows(done: Any) -> list[dict[str, Any]]:
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_share_of_the_evidence_that_is_recalled(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    undated = {**conversation(), "conversation": "two"}
    undated["turns"] = [{**turn, "time": "some day"} for turn in undated["turns"]]
    data.write_text(f"{json.dumps(conversation())}\n\n{json.dumps(undated)}\n", encoding="utf-8")
    one, two, totals = rows(run("bench", "recall", "--data", str(data), "--budget", "4000", "--json"))
    assert (one["conversation"], one["messages"], one["questions"]) == ("one", 12, 3)
    assert one["recall"] == two["recall"] == totals["recall"] == round(2 / 3, 4)
    assert totals["recall_micro"] == 0.6
    assert totals["all_evidence"] == round(2 / 3, 4)
    assert totals["questions"] == 6
    assert 0 < totals["tokens_mean"] <= totals["tokens_max"] <= 4000
    assert totals["p95_ms"] >= totals["p50_ms"] > 0

    filled = run("bench", "recall", "--data", str(data), "--budget", "4000", "--messages", "500", "--json")
    assert [row["messages"] for row in rows(filled)[:2]] == [500, 500]
    nothing = rows(run("bench", "recall", "--data", str(data), "--budget", "1", "--json"))[-1]
    assert (nothing["recall"], nothing["tokens_max"]) == (0.0, 0)
    assert "recall=" in run("bench", "recall", "--data", str(data)).stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps(conversation()) + "\n{", ("line 2",)),
        ("[]", ("line 1",)),
        (
            json.dumps({**conversation(), "questions": [{"question": "?", "evidence": ["D99"]}]}),
            ("line 1", "D99"),
        ),
        (json.dumps({**conversation(), "questions": []}), ("no questions",)),
    ],
    ids=["not JSON", "not an object", "no such turn", "no question"],
)
def test_a_wrong_file_is_named_with_its_line(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_conversations(data)
    assert all(word in str(caught.value) for word in ("data.jsonl", *words))


def test_a_missing_file_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    done = run("bench", "recall", "--data", str(tmp_path / "none.jsonl"))
    assert done.returncode == 2
    assert "none.jsonl" in done.stderr
    assert "Traceback" not in done.stderr
