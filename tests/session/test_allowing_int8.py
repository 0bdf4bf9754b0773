"""Whether KV goes to disk in int8: found out on the conversation itself, once, said, shown, and obeyed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from int8 import LONG, a_talk, forms, held, restored, tiers
from outliers import with_outliers
from talk import Talk
from tiny import tiny_loaded

from chatkv.cli.main import main
from chatkv.protocol import Notice
from chatkv.session.finding import Finder
from chatkv.store import Verdict


@pytest.fixture(autouse=True)
def reading_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models this small compute faster than a busy disk reads."""
    monkeypatch.setattr(Finder, "is_faster", lambda *_: True)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "hybrid"])
def test_it_is_found_out_once_on_the_conversation_itself(kind: str, tmp_path: Path) -> None:
    talk = a_talk(kind, tmp_path / "a.db")
    (notice,) = held(talk, 4)
    assert "in int8 from now on" in notice.text
    assert notice.level == "info"
    verdict = talk.store.verdict(talk.runtime.engine.fingerprint)
    assert verdict is not None
    assert verdict.allowed
    assert verdict.kl <= 0.01
    assert verdict.agreement >= 0.98
    written = forms(talk)
    assert written[0] is False  # written before there was enough to tell by
    assert all(written[1:])
    n_before = len(talk.runtime.engine.ledger)
    talk.resume(fresh_engine=True)
    talk.idle()
    assert restored(talk) == n_before
    assert not [event for event in talk.events if isinstance(event, Notice)]
    assert not held(talk, 1)


def test_a_model_that_int8_harms_is_refused_and_kept_exactly(tmp_path: Path) -> None:
    talk = Talk(with_outliers(tiny_loaded("llama"), 1e4), tmp_path / "a.db", chunk=64)
    talk.set("store.kv_int8", True)
    (notice,) = held(talk, 4)
    assert "stays exact on disk" in notice.text
    assert notice.level == "warning"
    assert not any(forms(talk))
    (verdict,) = talk.store.verdicts()
    assert not verdict.allowed
    assert verdict.kl > 0.01
    talk.resume(fresh_engine=True)
    assert not held(talk, 1)  # not asked again
    assert not any(forms(talk))
    assert "E2" not in tiers(talk)


def test_without_the_setting_nothing_is_measured_or_written_in_int8(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db", int8=False)
    assert not held(talk, 4)
    assert talk.store.verdicts() == []
    assert not any(forms(talk))


def test_calibration_gives_way_and_begins_again(tmp_path: Path) -> None:
    talk = a_talk("llama", tmp_path / "a.db")
    for n in range(3):
        talk.say(f"{n} {LONG}")
        talk.idle(12 + n)
        talk.session.upkeep.interrupt()
        talk.check_lengths()
    talk.say("and now?")  # right, whatever was broken off
    talk.idle()
    assert talk.store.verdicts()


def test_the_verdict_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATKV_HOME", str(tmp_path))
    talk = a_talk("llama", tmp_path / "a.db", sure=True)
    talk.store.set_verdict("f" * 64, Verdict("poor", False, float("inf"), 0.5, 64))
    talk.store.close()
    shown = CliRunner().invoke(main, ["--db", str(tmp_path / "a.db"), "cache"])
    assert shown.exit_code == 0, shown.output
    assert "allowed for tiny: 0.001 nats, 100.0% equal first choices over 64 tokens" in shown.output
    assert "refused for poor: inf nats" in shown.output
    shown = CliRunner().invoke(main, ["--db", str(tmp_path / "a.db"), "cache", "show", "--json"])
    assert [found["kl"] for found in json.loads(shown.output)["int8"]] == [None, 0.001]
