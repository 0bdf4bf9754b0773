"""`chatkv bench swap`: a compaction leaves what it says, a cancelled one nothing; healed is as read anew."""

from __future__ import annotations

import json

from processes import Run


def test_what_a_compaction_costs_and_how_exact_it_is(run: Run) -> None:
    done = run("bench", "swap", "--tokens", "700", "--runs", "2", "--json")
    assert done.returncode == 0, done.stderr
    one, two, totals = map(json.loads, done.stdout.splitlines())
    for row in (one, two):
        assert row["method"] == "rotated"
        assert row["tokens_after"] < row["tokens_before"] == totals["tokens"] <= 700
        assert row["prefilled"] >= totals["request"] > 0
        assert row["prefilled"] < row["tokens_before"]
    assert totals["rollback_exact"] is True
    assert 0 < totals["moved"] < two["tokens_after"]
    assert totals["front"] == -(-totals["moved"] // 6), "so much is exact before anything is answered"
    for name in ("recent", "next"):
        assert totals[f"{name}_healed_argmax"] == 1.0, "float32: as read anew"
        assert totals[f"{name}_healed_kl"] < 1e-5 < totals[f"{name}_answered_kl"]
        assert totals[f"{name}_answered_kl"] != totals[f"{name}_moved_kl"]
        assert abs(totals[f"{name}_healed_off"]) < 1e-4
    assert totals["all_moved"] > totals["moved"]
    assert totals["swap_s"] >= 0
    assert totals["all_swap_s"] > 0


def test_more_tokens_than_the_model_can_hold_are_refused(run: Run) -> None:
    done = run("bench", "swap", "--tokens", "3000")
    assert done.returncode == 2
    assert "--tokens 1024 is the most" in done.stderr
    assert "Traceback" not in done.stderr
