"""SIGKILL in the midst of a compaction: nothing said is lost, the old summary or the new one stands, chat goes on.

One conversation goes through it all; each process that is killed was itself opened after a kill.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import Stdio

from chatkv.store import MessageRecord, Store, SummaryRecord

Start = Callable[..., Stdio]
MOMENTS = [("summarizing", 9), ("rebuilding", 1), ("done", 1)]


class Conversation:
    """What was said, and what must be found again."""

    def __init__(self, start: Start, home: Path) -> None:
        self._start, self._database = start, home / "chatkv.db"
        self.said: list[str] = []
        self.answered: list[str] = []
        self.chat = start()

    def reopen(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """A new process; the marks of the turns and the summary that it finds."""
        self.chat = self._start()
        self.chat.send("open", session="last")
        marks = self.chat.until("marks")[-1]["turns"]
        self.chat.send("summary")
        return marks, self.chat.until("summarized")[-1]

    def say(self, text: str) -> dict[str, Any]:
        self.chat.send("send", text=text, max_new_tokens=5)
        events = self.chat.until("turn")
        self.said.append(text)
        self.answered.append("".join(event["text"] for event in events if event["type"] == "delta"))
        return events[-1]

    def kill_at(self, stage: str, nth: int) -> dict[str, Any]:
        """End the process at the nth event of that stage; the event."""
        for event in self.chat.events():
            nth -= event["type"] == "compaction" and event["stage"] == stage
            if nth == 0:
                self.chat.process.send_signal(signal.SIGKILL)
                self.chat.process.wait()
                return event
            if event["type"] in ("turn", "error"):
                break
        raise AssertionError(f"no such moment: {stage}")

    def stored(self) -> tuple[list[MessageRecord], list[SummaryRecord]]:
        with Store.open(self._database) as store:
            record = store.resolve("last")
            return store.path(record.leaf_id), store.summaries(record.id)

    def check_messages(self) -> None:
        path, _ = self.stored()
        assert [message.text for message in path if message.role == "user"] == self.said
        assert [message.text for message in path if message.role == "assistant"] == self.answered
        assert {message.status for message in path} <= {"complete", "length"}


@pytest.fixture
def talk(stdio: Start, environment: dict[str, str], tmp_path: Path) -> Conversation:
    environment["CHATKV_MEMORY_BUDGET"] = "400 KiB"
    return Conversation(stdio, tmp_path / "home")


def test_killed_at_any_moment_the_conversation_is_whole_and_goes_on(talk: Conversation) -> None:
    for n in range(4):
        talk.say(f"Fact {n}: the harbour of Lisbon has {n * 37} boats.")
    standing = ""
    for stage, nth in MOMENTS:
        talk.chat.send("compact")
        killed = talk.kill_at(stage, nth)
        talk.check_messages()
        marks, shown = talk.reopen()
        _, summaries = talk.stored()
        told = {mark["turn"] for mark in marks if mark["mark"] == "summarized"}
        assert [mark["turn"] for mark in marks] == list(range(1, len(talk.said) + 1))
        assert set(shown["turns"]) == told
        assert talk.chat.process.poll() is None
        if shown["text"] != standing:  # the kill came too late, or a moment after the new one stood
            assert stage in ("rebuilding", "done")
            assert told == set(range(1, len(talk.said) - 1))
            assert summaries[-1].text == shown["text"]
        if stage == "done":
            assert (shown["text"], shown["id"]) == (killed["text"], killed["summary_id"])
            assert told == set(range(1, len(talk.said) - 1))
        standing = shown["text"]
        assert talk.say(f"Still there? And fact {n + len(talk.said)}?")["finish"] == "length"
        talk.say("the boats " * 5)
    talk.check_messages()


def test_killed_while_a_message_waits_for_room_the_message_is_kept(talk: Conversation) -> None:
    long = "the boats of the harbour and the towers " * 8
    for _ in range(4):
        talk.say(long)
    talk.chat.send("set", key="memory.budget", value="330 KiB")
    talk.chat.send("send", text="And what of the boats? " * 12, max_new_tokens=5)
    waiting = talk.kill_at("summarizing", 3)
    assert (waiting["reason"], waiting["turns"]) == ("full", [1, 2])
    path, summaries = talk.stored()
    assert [message.text for message in path if message.role == "user"] == [
        *talk.said,
        "And what of the boats? " * 12,
    ]
    assert [message.text for message in path if message.role == "assistant"] == [*talk.answered, ""]
    assert [summary.upto_id for summary in summaries] in ([], [path[3].id])  # none, or all of it
    talk.reopen()
    talk.chat.send("regenerate", max_new_tokens=3)
    assert talk.chat.until("turn")[-1]["finish"] == "length"
    talk.chat.send("send", text="word " * 3000, max_new_tokens=3)
    refused = talk.chat.until("error")[-1]
    assert refused["choices"] == ["head", "document"]
    assert refused["text"] == "word " * 3000
    talk.chat.send("send", text="word " * 3000, max_new_tokens=3, overlong="head")
    accepted = talk.chat.until("accepted")[-1]
    assert ("word " * 3000).startswith(accepted["text"])
    assert len(accepted["text"]) > 500
    assert talk.chat.until("turn")[-1]["decoded"] == 3
