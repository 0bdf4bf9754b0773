"""A worker without a model: speaks the protocol, writes the real store, answers by script. Run as a program.

Prompts it knows: `slow` (half an answer, then waits for `stop` or `stats`), `wait` (no token until then), `die`
(half an answer, then SIGKILL), `die first` (dies before it takes the message), `long` (cut at the limit), `error`
(fails after it was accepted), `refuse` (not taken), `think` (thoughts first), `code`, `say …` (says just that),
`break`, `full` (memory fills up), `remember` (something is recalled), `huge …` (too long, unless only its head is
sent), and those of `fake_place` about the disk. All else is echoed.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
from pathlib import Path

from chatkv.protocol import (
    Accepted,
    Close,
    Closed,
    Command,
    Compaction,
    Continue,
    Count,
    Delta,
    Draft,
    Edit,
    Error,
    Finish,
    Fork,
    Marks,
    New,
    Notice,
    Open,
    Opened,
    Prefill,
    PrefixBreak,
    Recalled,
    RecalledRound,
    Regenerate,
    Send,
    Stats,
    Stop,
    Switch,
    Thought,
    Turn,
)
from chatkv.store import TurnRecord, this_process
from chatkv.store.records import Status
from tui.fake_lines import CODE, hear, say, weigh
from tui.fake_memory import FakeMemory
from tui.fake_place import FakePlace, told

STATUS: dict[Finish, Status] = {
    "stop": "complete",
    "cancelled": "stopped",
    "length": "length",
    "error": "error",
}


class FakeWorker(FakePlace):
    """One session at a time, as the real one."""

    def __init__(self, database: Path, model: str) -> None:
        super().__init__(database)
        self.model = model
        self.memory = self.fresh_memory()

    def fresh_memory(self) -> FakeMemory:
        """The memory of a session that was just opened."""
        return FakeMemory(
            lambda: self.store.path(self.leaf),
            self.stop_comes,
            lambda: self.store.alternatives(self.session or ""),
        )

    def run(self) -> None:
        """Obey until `close` or the end of stdin."""
        while (command := hear()) is not None and not isinstance(command, Close):
            self.obey(command)
        self.leave()
        say(Closed())

    def obey(self, command: Command) -> None:
        """Carry one command out."""
        match command:
            case New(carry=carry):
                carried = self.memory.summaries[-1] if carry else None
                self.leave()
                self.memory = self.fresh_memory()
                say(Opened("", "", self.model))
                say(Notice(f"Carried over: {carried.text}") if carried else Marks())
            case Open(session):
                self.place(self.enter(session))
            case Send(text) if self.refuses("send", text):
                pass
            case Fork(message_id):
                self.place(self.turn_to(message_id))
            case Switch(message_id):
                self.place(self.turn_to(self.store.newest_leaf(message_id).id))
            case Send(text, overlong=overlong):
                self.send(text[:9] if overlong == "head" else text)
            case Edit(message_id, text):
                self.leaf = self.store.message(message_id).parent_id
                self.send(text)
            case Regenerate(message_id=message_id):
                self.regenerate(message_id)
            case Continue():
                self.extend()
            case Stats():
                say(self.memory.kv())
            case Draft() | Count():
                weigh(command)
            case _:
                self.memory.obey(command)

    def place(self, opened: Opened) -> None:
        """Say where it is now."""
        self.memory = self.fresh_memory()
        say(opened)
        say(self.memory.marks())

    def send(self, text: str) -> None:
        """Say something."""
        if text == "refuse":
            say(Error("The message does not fit: 9,000 tokens, room for 8,192.", "Shorten it.", "send", text))
            return
        if text.startswith("huge ") and len(text) > 9:
            counts = "The message does not fit: 9,000 tokens, room for 2,912."
            say(Error(counts, "", "send", text, ("head", "document")))
            return
        if text == "die first":
            self.die()
        if self.session is None:
            self.session = self.store.create_session(self.model, text.split("\n")[0][:60], spec=self.model).id
            self.store.claim(self.session, this_process())
            say(Opened(self.session, self.store.session(self.session).title, self.model))
        self.store.set_model(self.session, self.model, self.model)
        turn = 1 + sum(message.role == "user" for message in self.store.path(self.leaf))
        before = self.leaf
        user, answer = self.store.add_exchange(self.session, self.leaf, text, turn, self.model)
        say(Accepted(turn, user.id, answer.id, text))
        if not self.answer(text, user.id, answer.id, turn):
            self.leaf = before
            self.store.set_leaf(self.session, before)
        else:
            self.leaf = answer.id

    def regenerate(self, user_id: int | None) -> None:
        """Answer a message, or the last one, again, with another word in front."""
        assert self.leaf is not None
        assert self.session is not None
        user_id = user_id or self.store.message(self.leaf).parent_id
        assert user_id is not None
        user = self.store.message(user_id)
        answer = self.store.add_message(
            self.session, user.id, "assistant", "", turn=user.turn, status="streaming", model=self.model
        )
        say(Accepted(user.turn, user.id, answer.id, user.text))
        self.answer(user.text, user.id, answer.id, user.turn, again="Again: ")
        self.leaf = answer.id

    def extend(self) -> None:
        """Go on with the last answer."""
        assert self.leaf is not None
        message = self.store.message(self.leaf)
        assert message.parent_id is not None
        say(Accepted(message.turn, message.parent_id, message.id, ""))
        say(Delta(message.id, " and the end.", 4))
        self.end(message.parent_id, message.id, message.turn, message.text + " and the end.", "stop", 1, 4)

    def answer(self, text: str, user_id: int, answer_id: int, turn: int, again: str = "") -> bool:
        """Answer by script; False if the turn left no trace."""
        n_prompt = max(1, len(text.split())) + 8
        if text == "remember":
            rounds = (
                RecalledRound(1, 2, "The cat is called Miso."),
                RecalledRound(0, 0, "A page.", "log.txt"),
            )
            say(Recalled(turn, 412, 0.01, rounds))
            self.store.set_recalled(user_id, "The cat is called Miso.")
        told(text)
        if text == "full":
            say(Compaction("planned", "idle", tuple(range(1, turn))))
        say(Prefill(0, n_prompt))
        if text == "wait" and self.stop_comes():
            self.end(user_id, answer_id, turn, "", "cancelled", n_prompt, 0)
            return False
        say(Prefill(n_prompt, n_prompt))
        thought = ""
        if text == "think":
            thought = "The person wants to see me think. I shall think of three things."
            say(Thought(answer_id, thought))
        if text == "break":
            say(PrefixBreak(12, "old", "new", 34, "The template rewrote it."))
            say(Notice("A word from the worker."))
        script = CODE if text == "code" else f"{again}You said: {text[:300]}"
        script = text.removeprefix("say ") if text.startswith("say ") else script
        size = max(7, len(script) // 50)
        pieces = [script[at : at + size] for at in range(0, len(script), size)]
        written = ""
        finish: Finish = "stop"
        for n, piece in enumerate(pieces):
            written += piece
            say(Delta(answer_id, piece, n + 1))
            if n == len(pieces) // 2:
                self.store.update_answer(
                    answer_id, text=written, thought=thought, ids=(), answer_start=0, status="streaming"
                )
                halt = self.half_way(text)
                if halt is not None:
                    finish = halt
                    break
        self.end(user_id, answer_id, turn, written, finish, n_prompt, len(pieces), thought)
        if finish == "error":
            say(Error("Out of memory after 3 tries.", "Lower memory.budget.", "send"))
        return True

    def half_way(self, text: str) -> Finish | None:
        """What the prompt wants to happen in the middle of its answer."""
        if text == "die":
            self.die()
        if text.startswith("slow") and self.stop_comes():
            return "cancelled"
        return {"long": "length", "error": "error"}.get(text)  # type: ignore[return-value]

    def stop_comes(self) -> bool:
        """Wait for `stop` (True) or `stats` (False)."""
        while (command := hear()) is not None:
            if isinstance(command, Stop):
                return True
            if isinstance(command, Stats):
                return False
            if isinstance(command, Draft | Count):
                weigh(command)
        sys.exit(0)

    def end(
        self,
        user_id: int,
        answer_id: int,
        turn: int,
        text: str,
        finish: Finish,
        prefilled: int,
        decoded: int,
        thought: str = "",
    ) -> None:
        """Save and report."""
        reused = self.memory.kv().tokens
        recalled = 412 if self.store.message(user_id).recalled else 0
        before = self.memory.tokens.get(turn, (0, 0))
        self.memory.tokens[turn] = (before[0] + prefilled, before[1] + decoded)
        kv = self.memory.kv()
        say(kv)
        waits = (0.21 if decoded else None, 0.04 if decoded > 1 else None)
        counts = (reused, prefilled, 2 if reused else 0, decoded, recalled)
        sizes = (kv.used_bytes, kv.reserved_bytes, kv.budget_bytes, kv.tokens)
        event = Turn(turn, user_id, answer_id, finish, *counts, *waits, *sizes)
        assert self.session is not None
        self.store.update_answer(
            answer_id, text=text, thought=thought, ids=(), answer_start=0, status=STATUS[finish]
        )
        cost = dataclasses.asdict(event)
        self.store.add_turn(TurnRecord(self.session, total_s=1.0, model=self.model, created_at=0.0, **cost))
        say(event)

    def die(self) -> None:
        """As if the system had killed it."""
        sys.stdout.flush()
        sys.stderr.write("CUDA error: out of memory\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
