"""Memory from the command line: a text that is too long has two ways in, and every byte is accounted for."""

from __future__ import annotations

import json
import re

from processes import Run

LONG = "".join(f"Walrus {n} eats {n * 3} fish a day.\n\n" for n in range(400))
TIGHT = {"CHATKV_MEMORY_BUDGET": "250 KiB"}


def test_a_text_that_cannot_fit_is_refused_with_counts_and_ways(run: Run) -> None:
    done = run("ask", "Which walrus?", stdin=LONG, **TIGHT)
    assert done.returncode == 6
    assert done.stdout == ""
    assert "1,000" in done.stderr
    assert "beginning" in done.stderr
    assert "document" in done.stderr
    assert "Traceback" not in done.stderr


def test_its_beginning_can_be_sent(run: Run) -> None:
    done = run("ask", "Which walrus?", "--long", "head", "--json", "-n", "4", stdin=LONG, **TIGHT)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["decoded"] == 4
    assert 500 < answer["kv_tokens"] <= 1000
    assert answer["kv_reserved_bytes"] <= 250 * 1024


def test_it_can_be_kept_as_a_document_and_is_recalled_from(run: Run) -> None:
    question = ("ask", "How many fish does walrus 321 eat a day?", "--long", "document", "-n", "4")
    done = run(*question, stdin=LONG, **TIGHT)
    assert done.returncode == 0, done.stderr
    assert "as a document" in done.stderr
    assert "recalled" in done.stderr
    shown = json.loads(run("sessions", "show", "last", "--json").stdout)
    assert shown["messages"][0]["text"] == question[1]


def test_doctor_accounts_for_what_a_model_and_a_conversation_take(run: Run) -> None:
    done = run("doctor", "--load", "--json", **TIGHT)
    found = json.loads(done.stdout)
    assert {"model", "turn", "config", "files"}.isdisjoint(found["problems"]), found
    findings = found["findings"]
    assert {"weights", "kv used", "kv reserved", "kv budget", "kv marks", "process"} <= set(findings)
    assert findings["kv budget"].endswith("= 1,000 tokens of 2,048 in the context")
    assert re.fullmatch(r"soft 700, hard [78]\d\d, compacted down to 400 tokens", findings["kv marks"])
    assert "user" in findings["kv used"]
    assert "answer" in findings["kv used"]
