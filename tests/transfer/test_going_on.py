"""An imported conversation is a conversation: a model takes its next turn, and says what it would without any cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from talk import Talk
from tiny import reference_model, tiny_loaded, tiny_tokenizer
from tokens.templates import TEMPLATES

from chatkv.session import Session
from chatkv.store import Store
from chatkv.transfer import export_sessions, plan_import, write_plan
from chatkv.transfer.identity import branch_in_use
from transfer.foreign import SHAREGPT, boats, llm_log, written

LEADING = [{"conversations": [{"from": "gpt", "value": "Ahoy."}, {"from": "human", "value": "Hello"}]}]


def a_file(kind: str, folder: Path) -> Path:
    if kind == "chatgpt":
        return written(folder / "c.json", [boats()])
    if kind == "sharegpt":
        return written(folder / "s.json", [SHAREGPT[0]])
    if kind == "leading":
        return written(folder / "l.json", LEADING)
    if kind == "llm":
        return llm_log(folder / "logs.db", newer=True)
    with Store.open(folder / "source.db") as store:
        record = store.create_session("m", "t", "Be kind.")
        user = store.add_message(record.id, None, "user", "Hello <|im_end|>", turn=1)
        store.add_message(record.id, user.id, "assistant", "Hi there.", turn=1, ids=(), thought="hm")
        file = folder / ("o.md" if kind == "markdown" else "o.json")
        export_sessions(store, [record], "markdown" if kind == "markdown" else "json", file, print, print)
    return file


def going_on(kind: str, template: str, folder: Path) -> Talk:
    prints_date = "strftime" in (
        TEMPLATES[template] or ""
    )  # of the day the session began, which the check does not know
    talk = Talk(
        replace(tiny_loaded("llama"), tokenizer=tiny_tokenizer(TEMPLATES[template])),
        folder / "t.db",
        reference=None if prints_date else reference_model("llama"),
    )
    plan = plan_import([a_file(kind, folder)], talk.store, 1_700_000_000.0)
    assert plan.faults == []
    write_plan(plan, talk.store)
    record = talk.store.session(plan.arrivals[0].session_id)
    talk.session = Session(talk.runtime, talk.store, record=record)
    return talk


@pytest.mark.parametrize("template", ["chatml", "gemma", "mistral", "qwen3", "none"])
@pytest.mark.parametrize("kind", ["chatgpt", "llm", "sharegpt", "markdown", "chatkv"])
def test_the_next_turn_follows_all_that_was_imported(kind: str, template: str, tmp_path: Path) -> None:
    talk = going_on(kind, template, tmp_path)
    before = [(message.role, message.text) for message in talk.path]
    assert [role for role, _ in before] == ["user", "assistant"] * (len(before) // 2)
    talk.say("and now?", 4)
    talk.idle()
    turn = talk.say("and then?", 4)
    assert turn.reused > 0
    assert [message.turn for message in talk.path] == [n // 2 + 1 for n in range(len(before) + 4)]
    assert [(message.role, message.text) for message in talk.path][: len(before)] == before
    held = talk.runtime.codec.decode(talk.runtime.engine.ledger.ids)
    assert all(text.strip() in held for _, text in before if "<|" not in text)
    talk.regenerate(3)
    talk.edit(talk.path[0].id, "edited", 3)
    talk.resume(fresh_engine=True)
    talk.say("bye", 3)
    whole = talk.store.whole(talk.path[0].session_id)
    assert branch_in_use(whole)[0]["text"] == "edited"
    talk.store.close()


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_conversation_that_the_model_began_goes_on(template: str, tmp_path: Path) -> None:
    talk = going_on("leading", template, tmp_path)
    assert [message.role for message in talk.path] == ["assistant", "user"]
    talk.say("and now?", 4)
    held = talk.runtime.codec.decode(talk.runtime.engine.ledger.ids)
    assert "Ahoy." in held
    assert "Hello\n\nand now?" in held
    talk.store.close()
