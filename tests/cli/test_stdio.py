"""The protocol over pipes: order, stop, bad lines, and what a kill leaves behind."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from typing import Any

from processes import Run, Stdio

Start = Callable[..., Stdio]


def of(kind: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


def test_a_script_of_commands_is_carried_out_in_order_and_ends_by_itself(run: Run) -> None:
    lines = [
        {"type": "send", "text": "hello", "max_new_tokens": 5},
        {"type": "nonsense"},
        {"type": "send", "text": "and", "max_new_tokens": 5},
        {"type": "regenerate", "max_new_tokens": 3},
        {"type": "continue", "max_new_tokens": 2},
        {"type": "send", "text": "   "},
        {"type": "stats"},
    ]
    done = run("stdio", stdin="".join(json.dumps(line) + "\n" for line in lines))
    events = [json.loads(line) for line in done.stdout.splitlines()]
    turns = of("turn", events)
    assert [(turn["turn"], turn["decoded"]) for turn in turns] == [(1, 5), (2, 5), (2, 3), (2, 2)]
    assert turns[1]["reused"] == turns[0]["kv_tokens"]
    assert turns[3]["reused"] + turns[3]["prefilled"] + turns[3]["prefilled_early"] == turns[2]["kv_tokens"]
    assert [error["command"] for error in of("error", events)] == ["", "send"]
    assert events[-1]["type"] == "closed"
    assert events[-2]["type"] == "kv"
    assert sum(segment["tokens"] for segment in events[-2]["segments"]) == events[-2]["tokens"]
    assert done.returncode == 0


def test_stop_reaches_a_running_answer_and_the_next_send_works(stdio: Start) -> None:
    chat = stdio()
    chat.send("send", text="hello", max_new_tokens=1500)
    chat.until("delta")
    chat.send("stop")
    turn = chat.until("turn")[-1]
    assert turn["finish"] == "cancelled"
    assert 0 < turn["decoded"] < 1500
    chat.send("send", text="again", max_new_tokens=3)
    again = chat.until("turn")[-1]
    assert again["reused"] >= turn["kv_tokens"]
    assert again["decoded"] == 3


def test_a_draft_is_counted_beside_an_answer_and_read_ahead_of_the_next(stdio: Start) -> None:
    chat, text = stdio(), "word " * 40
    chat.send("send", text="hello", max_new_tokens=600)
    chat.until("delta")
    chat.send("draft", text=text)
    chat.send("count", key="k", text="word")
    told = chat.until("drafted")[-1]
    assert told["tokens"] >= 40
    assert told["free"] == told["room"] == 0, "the answer still runs"
    chat.send("stop")
    chat.until("turn")
    while chat.until("drafted")[-1]["prefilled"] < told["tokens"]:
        pass
    chat.until("idle")
    chat.send("send", text=text, max_new_tokens=2)
    turn = chat.until("turn")[-1]
    assert turn["prefilled"] <= 16
    assert turn["prefilled_early"] > told["tokens"]


def test_a_send_stopped_before_its_first_token_is_taken_back(stdio: Start) -> None:
    chat = stdio()
    chat.send("send", text="hello", max_new_tokens=1500)
    chat.until("delta")
    chat.send("send", text="waiting", max_new_tokens=5)
    chat.send("stop")
    chat.until("turn")
    chat.until("turn")
    chat.send("send", text="word " * 300, max_new_tokens=5)
    chat.until("accepted")
    chat.send("stop")
    turn = chat.until("turn")[-1]
    chat.send("send", text="last", max_new_tokens=2)
    assert chat.until("accepted")[-1]["turn"] == (turn["turn"] if turn["decoded"] == 0 else turn["turn"] + 1)


def test_kill_9_in_mid_answer_keeps_question_and_partial_answer(stdio: Start, run: Run) -> None:
    chat = stdio()
    chat.send("send", text="tell me all", max_new_tokens=1800)
    n_deltas, text = 0, ""
    for event in chat.events():
        if event["type"] == "delta":
            n_deltas += 1
            text += event["text"]
            if n_deltas in (20, 200):  # the pipe fills, and the worker waits: it saves when it goes on
                time.sleep(0.7)
            if n_deltas == 260:
                break
    chat.process.send_signal(signal.SIGKILL)
    chat.process.wait()
    shown = json.loads(run("sessions", "show", "last", "--json").stdout)
    question, partial = shown["messages"]
    assert question["text"] == "tell me all"
    assert partial["status"] == "streaming"
    assert partial["text"]
    # What was not read yet may be stored, what was read a moment ago may not be.
    shorter, longer = sorted((text, partial["text"].rstrip("\ufffd")), key=len)
    assert longer.startswith(shorter)

    other = stdio()
    other.send("open", session="last")
    opened = other.until("opened")[-1]
    assert opened["leaf_id"] == partial["id"]
    assert other.until("notice")[-1]["level"] == "warning"
    other.send("continue", max_new_tokens=4)
    other.until("turn")
    other.send("send", text="thanks", max_new_tokens=3)
    assert other.until("turn")[-1]["finish"] == "length"


def test_one_session_has_one_writer(stdio: Start) -> None:
    first = stdio()
    first.send("send", text="mine", max_new_tokens=2)
    first.until("turn")
    second = stdio()
    second.send("open", session="last")
    assert second.until("opened")[-1]["writer"] == first.process.pid
    second.send("send", text="no, mine")
    error = second.until("error")[-1]
    assert str(first.process.pid) in error["message"]
    assert error["text"] == "no, mine"


def test_the_worker_leaves_when_its_reader_is_gone(stdio: Start) -> None:
    chat = stdio("--stop-at-end")
    chat.send("send", text="hello", max_new_tokens=1800)
    chat.until("delta")
    chat.commands.close()
    turn = chat.until("turn")[-1]
    assert turn["finish"] == "cancelled"
    assert chat.until("closed")
    assert chat.process.wait(timeout=20) == 0
