"""Moments of a memory at work, made of the worker's events: what the sidebar is shown in tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from textual.pilot import Pilot

from chatkv.protocol import (
    Accepted,
    Compaction,
    Delta,
    Drafted,
    Event,
    Idle,
    Kv,
    KvSegment,
    Prefill,
    PrefixBreak,
    Recalled,
    RecalledRound,
    Restored,
    Turn,
)
from chatkv.tui.app import ChatkvApp
from chatkv.tui.behind.desk import Desk
from chatkv.tui.memory.gauges import TurnRow
from chatkv.tui.talk.exchange import Say
from tui.driving import ready
from tui.fake_lines import BYTES_PER_TOKEN

LIMIT = 4096
Scene = Callable[[Desk], None]


def kv(*segments: KvSegment, **fields: int) -> Kv:
    """A KV that holds these."""
    tokens = sum(segment.tokens for segment in segments)
    used = tokens * BYTES_PER_TOKEN
    known = Kv(
        *(tokens, used, used + 300 * BYTES_PER_TOKEN, LIMIT * BYTES_PER_TOKEN, 8192, segments),
        limit_tokens=LIMIT,
        soft_tokens=LIMIT * 7 // 10,
        hard_tokens=LIMIT * 9 // 10,
        target_tokens=LIMIT * 4 // 10,
        weights_bytes=269 << 20,
        scratch_bytes=48 << 20,
        slack_bytes=5 << 20,
        rss_bytes=731 << 20,
    )
    return replace(known, **fields)  # type: ignore[arg-type]


def row(turn: int, kept: int) -> TurnRow:
    """A turn of plausible cost that found `kept` tokens."""
    early, prefilled, decoded = 4 + turn % 3, 18 + turn * 7 % 30, 60 + turn * 37 % 90
    total = kept + early + prefilled + decoded
    return TurnRow(turn, kept, early, prefilled, decoded, 0.2 + turn % 4 / 10, 0.04, total)


def turns(count: int, first: int = 1, *, head: int = 40, room_at: tuple[int, ...] = ()) -> list[TurnRow]:
    """So many turns, each on top of the one before; room was made before those in `room_at`."""
    rows, kept = [], head
    for turn in range(first, first + count):
        kept = 600 if turn in room_at else kept
        rows.append(row(turn, kept))
        kept = rows[-1].kv_tokens
    return rows


def held(rows: list[TurnRow], tier: str = "E1") -> tuple[KvSegment, ...]:
    """What the KV holds of these turns."""
    parts = [(turn.turn, turn.prefilled + (turn.early or 0), turn.decoded) for turn in rows]
    return tuple(
        KvSegment(kind, turn, size, tier)
        for turn, asked, decoded in parts
        for kind, size in (("user", asked), ("answer", decoded))
    )


SYSTEM = KvSegment("system", 0, 40)
SUMMARY = KvSegment("summary", 0, 180, "E3")


def hear(desk: Desk, *events: Event) -> None:
    """As if the worker had said this."""
    for event in events:
        desk.hear(event)


def settled_chat(desk: Desk, n_turns: int = 9) -> list[TurnRow]:
    """A conversation of so many turns, at rest."""
    rows = turns(n_turns)
    desk._meter.open("Sailing in winter", rows)
    hear(desk, kv(SYSTEM, *held(rows)))
    return rows


def prefill(desk: Desk) -> None:
    """A prompt is being read."""
    rows = settled_chat(desk)
    kept = rows[-1].kv_tokens
    hear(desk, Accepted(10, 901, 902, "long"), Prefill(0, 900, reused=kept, prefilled_early=12))
    hear(desk, Prefill(512, 900, reused=kept, prefilled_early=12))


def decode(desk: Desk) -> None:
    """An answer is being written."""
    prefill(desk)
    kept = desk.gauges.rows[-1].kv_tokens
    hear(desk, Prefill(900, 900, reused=kept, prefilled_early=12), Delta(902, "The ", 1))
    hear(desk, Delta(902, "wind turns north in the evening.", 240))


def draft(desk: Desk) -> None:
    """What is being written is read ahead."""
    rows = settled_chat(desk)
    segments = (SYSTEM, *held(rows), KvSegment("draft", 10, 412))
    hear(desk, kv(*segments), Drafted(640, 2000, 3000, 412), Idle("drafting"))


def compacting(desk: Desk) -> None:
    """Old turns are being summarized."""
    rows = settled_chat(desk, 24)
    hear(desk, kv(SYSTEM, *held(rows), second_bytes=5 << 20))
    hear(desk, Compaction("planned", "idle", tuple(range(1, 15))), Idle("compacting"))
    hear(desk, Compaction("summarizing", "idle", tuple(range(1, 15)), 60, 220))


def over_hard(desk: Desk) -> None:
    """The KV is nearly full; other sessions are kept warm."""
    rows = turns(28)
    desk._meter.open("Sailing in winter", rows)
    hear(desk, kv(SYSTEM, *held(rows)))
    assert desk.gauges.kv is not None
    segments = (*desk.gauges.kv.segments, KvSegment("answer", 29, 3800 - desk.gauges.kv.tokens))
    hear(desk, kv(*segments, warm_bytes=4 << 20, warm_sessions=1))


def healing(desk: Desk) -> None:
    """Room was made; moved turns are computed again."""
    rows = turns(16, room_at=(13,))
    desk._meter.open("Sailing in winter", rows, (12,))
    pinned = tuple(KvSegment(kind, 3, 70, "E2", 0.1, True) for kind in ("user", "answer"))
    moved = [replace(segment, heat=segment.turn * 7 % 10 / 20) for segment in held(rows[11:14], "E2")]
    segments = (SYSTEM, SUMMARY, *pinned, *moved, *held(rows[14:]))
    done = Compaction("done", "full", tuple(range(1, 12)), tokens_before=3412, tokens_after=1204, total_s=2.1)
    hear(desk, done, kv(*segments), Idle("healing"))


def recalled(desk: Desk) -> None:
    """An answer stands on what the archive gave; before it a prefix broke, and KV came from disk."""
    rows = settled_chat(desk, 6)
    hear(desk, Restored("done", 830, 842, 19 << 20, 0.12))
    hear(
        desk,
        PrefixBreak(
            412, "<think>\n\n</think>", "The wind", 86, "an earlier part is rendered differently now"
        ),
    )
    desk._show(Say("Out of memory after 3 tries. Lower memory.budget.", "error"))
    hear(
        desk, Accepted(7, 901, 902, "who"), Recalled(7, 300, 0.02, (RecalledRound(1, 2, "The cat is Miso."),))
    )
    kept = rows[-1].kv_tokens
    sizes = (1 << 20, 2 << 20, 64 << 20, kept + 430)
    hear(desk, Turn(7, 901, 902, "stop", kept, 330, 10, 90, 300, 0.61, 0.04, *sizes))
    hear(desk, kv(SYSTEM, *held(rows), KvSegment("user", 7, 340), KvSegment("answer", 7, 90)))


def many(desk: Desk) -> None:
    """Three hundred turns."""
    rooms = tuple(range(25, 300, 25))
    rows = turns(300, room_at=rooms)
    desk._meter.open("Sailing in winter", rows, tuple(turn - 1 for turn in rooms))
    hear(desk, kv(SYSTEM, SUMMARY, *held(rows[276:])), Idle("writing"))


def fine(desk: Desk) -> None:
    """Three hundred turns, all of them in the KV."""
    rows = turns(300)
    desk._meter.open("Sailing in winter", rows)
    segments = (SYSTEM, *(replace(segment, tokens=5) for segment in held(rows)))
    hear(desk, kv(*segments, soft_tokens=3200))


SCENES: dict[str, Scene] = {
    "prefill": prefill,
    "decode": decode,
    "draft": draft,
    "compacting": compacting,
    "over hard": over_hard,
    "healing": healing,
    "recalled": recalled,
    "300 turns": many,
}


def played(scene: Scene) -> Callable[[Pilot[None]], Awaitable[None]]:
    """What brings an app to this moment."""

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        app = pilot.app
        assert isinstance(app, ChatkvApp)
        scene(app.desk)
        await pilot.pause(0.4)

    return act
