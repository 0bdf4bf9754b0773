"""SIGKILL at random moments: what was accepted is there, at most a second of an answer is gone, the chat goes on.

One conversation after the other; each process that is killed was itself opened after a kill. `CHATKV_TEST_KILLS` sets
how many there are.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from processes import Stdio
from talk import assert_greedy
from transformers import AutoModelForCausalLM

from chatkv.config import Config, LoadConfig, SamplingConfig
from chatkv.engine.loader import load_model
from chatkv.models import locate_model
from chatkv.runtime import Runtime, build_runtime
from chatkv.session.context import Context
from chatkv.store import Store

N_KILLS = int(os.environ.get("CHATKV_TEST_KILLS", "8"))
MOMENTS = ("prefill", "decode", "compaction", "idle")
LOST_AT_MOST_S = 1.0


class Heard:
    """What a process says, with the time it was heard, by a thread of its own."""

    def __init__(self, chat: Stdio) -> None:
        self.chat = chat
        self.events: list[tuple[float, dict[str, Any]]] = []
        self._came = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def wait_for(self, kind: str, start: int = 0, **fields: Any) -> dict[str, Any]:
        """The next event of `kind` from number `start` on."""
        with self._came:
            at = start
            while True:
                for _, event in self.events[at:]:
                    if event["type"] == kind and fields.items() <= event.items():
                        return event
                at = len(self.events)
                assert not self._ended, f"no {kind}; the last were {self.events[-3:]}"
                assert self._came.wait(120), f"no {kind} in two minutes"

    def killed(self) -> float:
        """Kill the process now; the time it was."""
        at = time.monotonic()
        self.chat.kill()
        self._thread.join()
        self.chat.close()
        return at

    def _listen(self) -> None:
        for event in self.chat.events():
            with self._came:
                self.events.append((time.monotonic(), event))
                self._came.notify_all()
        with self._came:
            self._ended = True
            self._came.notify_all()


class Cold:
    """Answers without any cache, by the same weights."""

    def __init__(self, folder: Path) -> None:
        config = Config(sampling=SamplingConfig(temperature=0.0))
        loaded = load_model(
            locate_model(str(folder), folder), LoadConfig(dtype="float32", threads=1), lambda _: None
        )
        self.runtime: Runtime = build_runtime(loaded, config)
        self.reference = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").float()

    def check(self, store: Store, session_id: str) -> None:
        """The newest answer of the session is what the model says to all that stands before it."""
        record = store.session(session_id)
        context = Context(store, record, record.system or "")
        *before, answer = context.path
        seen = context.messages(before, recalled_for=before[-1].id)
        prompt = self.runtime.chat.render(seen, answer=True)
        assert len(answer.ids) == 5
        assert_greedy(self.reference, prompt.ids, answer.ids)


class Crashes:
    """The life of some conversations with a kill in every process."""

    def __init__(self, environment: dict[str, str], database: Path, cold: Cold) -> None:
        self._environment, self._database, self._cold = environment, database, cold
        self.chance = random.Random(7)
        self.accepted: dict[int, str] = {}
        self.ended: dict[int, str] = {}
        self.worst_s = 0.0
        self.n_cold = self.n_partial = 0

    def live(self, moment: str, *, fresh: bool) -> None:
        """A process: opened, compared with a cold one, and killed at a random moment of that kind."""
        heard = Heard(Stdio(self._environment))
        heard.chat.send("new") if fresh else heard.chat.send("open", session="last")
        heard.wait_for("opened")
        turn = self.say(heard, f"And now, number {self.chance.randrange(1000)}?", 5)
        assert (turn["finish"], turn["decoded"]) == ("length", 5), str(
            [e for _, e in heard.events if e["type"] not in ("loading", "ready", "delta")]
        )
        if not any(event["type"] == "compaction" for _, event in heard.events):
            with Store.open(self._database) as store:
                self._cold.check(store, store.resolve("last").id)
            self.n_cold += 1
        self.come_to(moment, heard)
        self.check(heard, heard.killed())

    def say(self, heard: Heard, text: str, n_tokens: int) -> dict[str, Any]:
        start = len(heard.events)
        heard.chat.send("send", text=text, max_new_tokens=n_tokens)
        return heard.wait_for("turn", start)

    def come_to(self, moment: str, heard: Heard) -> None:
        """Get the process to where it is to be killed."""
        chance, start = self.chance, len(heard.events)
        if moment == "compaction":
            self.say(heard, "Three towers and nine boats. " * 4, 5)
            heard.chat.send("compact")
            time.sleep(chance.uniform(0, 0.25))
        elif moment == "idle":
            self.say(heard, "the boats of the harbour " * 12, 5)
            time.sleep(chance.uniform(0, 0.4))
        elif moment == "prefill":
            heard.chat.send("send", text="the boats of the harbour " * 20, max_new_tokens=500)
            heard.wait_for("accepted", start)
            time.sleep(chance.uniform(0, 0.05))
        else:
            heard.chat.send("send", text="Tell me all.", max_new_tokens=500)
            heard.wait_for("delta", start)
            time.sleep(chance.uniform(0, 0.6))

    def check(self, heard: Heard, killed_at: float) -> None:
        """Nothing that was accepted is gone, and of the answers at most what was said in the last second."""
        check = sqlite3.connect(self._database)
        assert check.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        check.close()
        said: dict[int, list[tuple[float, str]]] = {}
        for at, event in heard.events:
            if event["type"] == "accepted":
                self.accepted[event["user_id"]] = event["text"]
                said[event["answer_id"]] = []
            elif event["type"] == "delta":
                said[event["message_id"]].append((at, event["text"]))
            elif event["type"] == "turn":
                self.ended[event["message_id"]] = "".join(text for _, text in said[event["message_id"]])
        with Store.open(self._database) as store:
            for message_id, text in self.accepted.items():
                assert store.message(message_id).text == text
            for message_id, pieces in said.items():
                self._check_answer(store.message(message_id).text, pieces, killed_at)
            for message_id, text in self.ended.items():
                assert store.message(message_id).text == text
        self.n_partial += len(said.keys() - self.ended.keys())

    def _check_answer(self, stored: str, pieces: list[tuple[float, str]], killed_at: float) -> None:
        told = "".join(text for _, text in pieces)
        assert stored.startswith(told) or told.startswith(stored.rstrip("�"))
        length = 0
        for at, text in pieces:
            length += len(text)
            if length > len(stored):
                self.worst_s = max(self.worst_s, killed_at - at)
                assert killed_at - at <= LOST_AT_MOST_S, f"{killed_at - at:.2f} s of the answer are gone"
                return


@pytest.mark.slow
@pytest.mark.timeout(60 + 30 * N_KILLS)
def test_killed_at_random_moments_the_chat_is_whole_and_goes_on(
    environment: dict[str, str], tmp_path: Path, tiny_folder: Path
) -> None:
    environment["CHATKV_MEMORY_BUDGET"] = "600 KiB"
    crashes = Crashes(environment, tmp_path / "home" / "chatkv.db", Cold(tiny_folder))
    for n in range(N_KILLS):
        if n % len(MOMENTS) == 0:
            moments = crashes.chance.sample(MOMENTS, len(MOMENTS))
        crashes.live(moments[n % len(MOMENTS)], fresh=n % len(MOMENTS) == 0)
    assert crashes.n_cold > N_KILLS // 3
    assert crashes.n_partial >= N_KILLS // 8
    print(
        f"{N_KILLS} kills: {crashes.n_partial} in an answer, at most {crashes.worst_s:.2f} s of it gone, "
        f"{crashes.n_cold} next turns compared with cold ones, {len(crashes.accepted)} messages kept"
    )
