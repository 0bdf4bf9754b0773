"""How processes end other than by their own choice, and two that write at once: all that was said is stored."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from processes import Stdio

from chatkv.store import MessageRecord, Store

Start = Callable[..., Stdio]


def texts(events: list[dict[str, Any]]) -> str:
    return "".join(event["text"] for event in events if event["type"] == "delta")


def stored(home: Path, session: str = "last") -> list[MessageRecord]:
    with Store.open(home / "home" / "chatkv.db") as store:
        return store.path(store.resolve(session).leaf_id)


def test_sigterm_ends_an_answer_as_stopped_and_sighup_a_message_before_its_answer(
    stdio: Start, tmp_path: Path
) -> None:
    chat = stdio(real=True)
    chat.send("send", text="tell me all", max_new_tokens=1800)
    events = chat.until("delta")
    chat.process.send_signal(signal.SIGTERM)
    events += chat.until("closed")
    assert chat.process.wait(timeout=20) == 0
    question, answer = stored(tmp_path)
    assert (question.text, answer.status) == ("tell me all", "stopped")
    assert answer.text == texts(events) != ""

    chat = stdio()
    chat.send("open")
    chat.until("marks")
    chat.send("send", text="the boats of the harbour " * 40, max_new_tokens=1800)
    events = chat.until("accepted")
    chat.process.send_signal(signal.SIGHUP)
    events += chat.until("closed")
    assert chat.process.wait(timeout=20) == 0
    *_, question, answer = stored(tmp_path)
    assert (question.text, answer.status) == ("the boats of the harbour " * 40, "stopped")
    assert answer.text == texts(events)

    chat = stdio()
    chat.send("open")
    chat.send("send", text="thanks", max_new_tokens=3)
    assert chat.until("turn")[-1]["finish"] == "length"
    assert [m.text for m in stored(tmp_path) if m.role == "user"][-2:] == [question.text, "thanks"]


def test_an_answer_whose_reader_died_is_stored_to_its_last_word(stdio: Start, tmp_path: Path) -> None:
    chat = stdio("--stop-at-end")
    chat.send("send", text="tell me all", max_new_tokens=1800)
    events = chat.until("delta")
    chat.heard.close()
    assert chat.process.wait(timeout=20) == 0
    _, answer = stored(tmp_path)
    assert answer.status == "stopped"
    assert answer.text.startswith(texts(events))


def test_two_processes_on_two_sessions_both_save_and_a_third_takes_one_over(
    stdio: Start, tmp_path: Path
) -> None:
    ann, bob = stdio(), stdio()
    said: dict[str, list[str]] = {"ann": [], "bob": []}
    for turn in range(4):
        for name, chat in (("ann", ann), ("bob", bob)):
            chat.send("send", text=f"{name} asks {turn}", max_new_tokens=60)
        for name, chat in (("ann", ann), ("bob", bob)):
            events = chat.until("turn")
            assert not [event for event in events if event["type"] in ("error", "saving")]
            said[name] += [f"{name} asks {turn}", texts(events)]
    with Store.open(tmp_path / "home" / "chatkv.db") as store:
        sessions = {session.title[:3]: session.id for session in store.list_sessions()}
    for name, session in sessions.items():
        assert [message.text for message in stored(tmp_path, session)] == said[name]

    bob.send("open", session=sessions["ann"])
    assert bob.until("opened")[-1]["writer"] == ann.process.pid
    bob.send("pin", turn=1)
    assert str(ann.process.pid) in bob.until("error")[-1]["message"]
    ann.send("send", text="ann goes on", max_new_tokens=2)
    ann.until("turn")
    ann.process.kill()
    ann.process.wait()
    bob.send("send", text="bob takes over", max_new_tokens=2)
    events = bob.until("turn")
    assert (events[0]["type"], events[0]["writer"]) == ("opened", 0)
    assert len(events[1]["turns"]) == 5
    asked = [message.text for message in stored(tmp_path, sessions["ann"])][::2]
    assert asked[-2:] == ["ann goes on", "bob takes over"]


def test_a_deleted_database_is_told_once_and_made_again(stdio: Start, tmp_path: Path) -> None:
    chat = stdio()
    chat.send("send", text="first", max_new_tokens=2)
    chat.until("turn")
    for file in (tmp_path / "home").glob("chatkv.db*"):
        if file.is_file():
            file.unlink()
    chat.send("send", text="second", max_new_tokens=2)
    events = chat.until("turn")
    assert [event["ok"] for event in events if event["type"] == "saving"] == [False]
    events = chat.until("saving")  # by itself, in idle time
    assert events[-1]["ok"]
    chat.process.send_signal(signal.SIGHUP)
    assert chat.until("closed")
    assert chat.process.wait(timeout=20) == 0
    assert [message.text for message in stored(tmp_path)][::2] == ["first", "second"]
