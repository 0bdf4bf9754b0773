"""The fake worker's memory: marks, summaries, pins and recall by script, and a KV made of tokens that were counted.

`compact` with the words `slow` waits for `stop` or `stats` in the middle. `recall` finds every turn with the words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from chatkv.protocol import (
    Command,
    Compact,
    Compaction,
    Error,
    Keep,
    Kept,
    Kv,
    KvSegment,
    Marks,
    Notice,
    Pin,
    Recall,
    Recalled,
    RecalledRound,
    Set,
    Summarized,
    Summary,
    TurnMark,
    Unpin,
)
from chatkv.store import MessageRecord
from tui.fake_lines import BUDGET_BYTES, BYTES_PER_TOKEN, say

CONTEXT_TOKENS = 8192
LIMIT_TOKENS = BUDGET_BYTES // BYTES_PER_TOKEN
SUMMARY_TOKENS = 6


@dataclass
class FakeMemory:
    """What is in a KV that does not exist. `path` gives the messages of the branch, `stop_comes` waits for a word."""

    path: Callable[[], list[MessageRecord]]
    stop_comes: Callable[[], bool]
    others: Callable[[], dict[int, tuple[int, ...]]] = dict
    """Children by parent id, where there is more than one."""
    tokens: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of each turn: prefilled, decoded."""
    pins: set[int] = field(default_factory=set)
    gone: tuple[int, ...] = ()
    summaries: list[Summarized] = field(default_factory=lambda: [Summarized("")])

    def obey(self, command: Command) -> None:
        """Carry one command out."""
        match command:
            case Compact(instructions):
                self.compact(instructions)
            case Summary(text, undo):
                self.change(text, undo)
            case Pin(turn) | Unpin(turn) if turn > len(self.turns()):
                say(Error(f"There is no turn {turn}.", "", type(command).__name__.lower()))
            case Pin(turn):
                self.pins.add(turn)
                say(self.marks())
            case Unpin(turn):
                self.pins.discard(turn)
                say(self.marks())
            case Recall(words):
                self.recall(words)
            case Keep(text, name):
                say(Kept(1, name, len(text.split()), 2))
            case Set(value="nonsense"):
                say(Error("memory.budget = 'nonsense' is not a size.", 'Write "512 MiB".', "set"))
            case Set(key, value):
                say(Notice(f"{key} = {value!r}"))

    def turns(self) -> list[MessageRecord]:
        """The user's messages."""
        return [message for message in self.path() if message.role == "user"]

    def marks(self) -> Marks:
        """How every turn stands."""
        others = self.others()
        alternatives = {m.id: (others.get(m.parent_id or 0, ()), others.get(m.id, ())) for m in self.turns()}
        return Marks(
            tuple(TurnMark(m.turn, m.id, self.mark(m.turn), *alternatives[m.id]) for m in self.turns())
        )

    def mark(self, turn: int) -> Literal["verbatim", "summarized", "pinned"]:
        """How one turn stands."""
        if turn in self.pins:
            return "pinned"
        return "summarized" if turn in self.gone else "verbatim"

    def compact(self, instructions: str) -> None:
        """Let all turns go but the last and the pinned ones."""
        going = tuple(m.turn for m in self.turns()[:-1] if m.turn not in self.pins)
        if not going:
            say(Error("There is nothing to compact yet.", "Talk first.", "compact"))
            return
        before = self.kv().tokens
        event = Compaction("summarizing", "asked", going, 34, 96)
        say(event)
        if instructions == "slow" and self.stop_comes():
            say(replace(event, stage="given_up"))
            return
        say(replace(event, stage="rebuilding", done=3, total=SUMMARY_TOKENS))
        self.gone = going
        text = f"The person said {len(going)} things. {instructions}".strip()
        self.summaries.append(Summarized(text, going, "model", tokens=SUMMARY_TOKENS, id=len(self.summaries)))
        figures = {"tokens_before": before, "tokens_after": self.kv().tokens, "total_s": 2.1}
        say(Compaction("done", "asked", going, text=text, origin="model", method="rotated", **figures))  # type: ignore[arg-type]
        say(self.marks())
        say(self.summaries[-1])
        say(self.kv())

    def change(self, text: str | None, undo: bool) -> None:
        """Show, replace or take back the summary."""
        if undo and len(self.summaries) < 2:
            say(Error("There is no change to take back.", "", "summary"))
            return
        if undo:
            self.summaries.pop()
            self.gone = self.summaries[-1].turns
            say(self.marks())
        if text is not None:
            self.summaries.append(replace(self.summaries[-1], text=text, edited=True))
        say(self.summaries[-1])

    def recall(self, words: str) -> None:
        """Find turns by the words in them."""
        found = [RecalledRound(m.turn, m.turn, m.text) for m in self.turns() if words in m.text]
        tokens = sum(len(hit.text.split()) for hit in found)
        say(Recalled(len(self.turns()) + 1, tokens, 0.01, tuple(found), by_hand=True))

    def segments(self) -> tuple[KvSegment, ...]:
        """Summary, pinned turns, the others, in the order of the KV."""
        runs = [KvSegment("summary", 0, SUMMARY_TOKENS, "E3")] if self.gone else []
        for turn, (prefilled, decoded) in self.tokens.items():
            if turn not in self.gone:
                rest = {"tier": "E2" if self.gone else "E0", "pinned": turn in self.pins}
                runs.append(KvSegment("user", turn, prefilled, **rest))  # type: ignore[arg-type]
                runs.append(KvSegment("answer", turn, decoded, **rest))  # type: ignore[arg-type]
        return tuple(runs)

    def kv(self) -> Kv:
        """The state of a cache that does not exist."""
        segments = self.segments()
        n_tokens = sum(run.tokens for run in segments)
        held = (n_tokens + 255) // 256 * 256 * BYTES_PER_TOKEN
        return Kv(
            *(n_tokens, n_tokens * BYTES_PER_TOKEN, held, BUDGET_BYTES, CONTEXT_TOKENS, segments),
            limit_tokens=LIMIT_TOKENS,
            soft_tokens=LIMIT_TOKENS * 7 // 10,
            hard_tokens=LIMIT_TOKENS * 9 // 10,
            target_tokens=LIMIT_TOKENS * 4 // 10,
            weights_bytes=269 << 20,
            scratch_bytes=48 << 20,
            slack_bytes=5 << 20,
            rss_bytes=731 << 20,
        )
