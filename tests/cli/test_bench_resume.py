"""`chatkv bench resume`: what comes from disk is what was held, and the answer is the same either way."""

from __future__ import annotations

import json

from processes import Run


def test_coming_back_costs_what_it_says(run: Run) -> None:
    done = run("bench", "resume", "--tokens", "700", "--runs", "1", "--json")
    assert done.returncode == 0, done.stderr
    held, restored, computed, started, ratios = map(json.loads, done.stdout.splitlines())
    assert held["kv_tokens"] >= 700
    assert restored["kv_tokens"] == computed["kv_tokens"] == held["kv_tokens"]
    assert 0 <= restored["restored"] <= held["kv_tokens"]  # none where computing is faster
    assert restored["reused"] + restored["prefilled_early"] == held["kv_tokens"]
    assert (computed["restored"], computed["reused"]) == (0, 0)
    assert computed["prefilled_early"] == held["kv_tokens"]
    assert restored["prefilled"] == computed["prefilled"] > 0
    assert held["written_bytes"] > 0
    assert started["with_session_s"] > 0
    assert ratios["same_answer"] is True
    assert ratios["bytes_ratio"] < 1.4  # files have headers, and this model's tokens take 256 bytes


def test_more_tokens_than_the_model_can_hold_are_refused(run: Run) -> None:
    done = run("bench", "resume", "--tokens", "3000")
    assert done.returncode == 2
    assert "3,000 tokens are too many" in done.stderr
    assert "Traceback" not in done.stderr
