"""`chatkv bench draft`: what is read ahead of Enter need not be read after it."""

from __future__ import annotations

import json

from processes import Run


def test_a_paste_that_was_looked_over_is_not_read_at_enter(run: Run) -> None:
    done = run("bench", "draft", "--tokens", "300", "--rest", "8", "--runs", "1", "--json")
    assert done.returncode == 0, done.stderr
    off, on, totals = map(json.loads, done.stdout.splitlines())
    assert (off["ahead"], on["ahead"]) == (False, True)
    assert off["tokens"] == on["tokens"] == 300
    assert off["drafted"] == 0 < 300 < on["drafted"]
    assert off["prefilled"] >= 300
    assert on["prefilled"] == 1
    assert on["prefilled"] + on["prefilled_early"] == off["prefilled"] + off["prefilled_early"]
    assert totals["prefilled_on"] <= 16
    assert totals["ttft_ratio"] > 0


def test_more_than_fits_into_a_message_is_refused(run: Run) -> None:
    done = run("bench", "draft", "--tokens", "30000")
    assert done.returncode == 2
    assert "is the most" in done.stderr
    assert "Traceback" not in done.stderr
