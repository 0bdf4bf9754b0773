"""The words of the sidebar: labels, what each number means, lines made of several numbers. Plain functions."""

from __future__ import annotations

from chatkv.protocol import Kv
from chatkv.tui import units
from chatkv.tui.memory.gauges import Gauges

FIGURES = {
    "reused": ("reused", "Prompt tokens found in the KV cache: nothing to compute."),
    "early": ("early", "Prompt tokens prefilled before you pressed Enter: your draft, and what ends a turn."),
    "prefilled": ("prefilled", "Prompt tokens read after you pressed Enter."),
    "decoded": ("decoded", "Tokens of the answer so far."),
    "recalled": ("recalled", "Tokens of the prompt that came out of the archive, among those read."),
    "summary": ("summary", "Tokens of the summary that stands for older turns."),
    "ttft": ("TTFT", "Time to first token: seconds from Enter to the answer's start."),
    "rate": ("tok/s", "Tokens a second after the first one."),
}
BYTES = {
    "weights": ("weights", "The model's own numbers."),
    "second": ("second", "KV being built beside the live one while room is made; part of what is held."),
    "scratch": ("scratch", "What one step of the model needs beside weights and KV."),
    "slack": ("slack", "Memory that the allocator keeps for itself."),
}
_PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
MEANINGS = {
    "session-title": "The title of this session; ⟨chat.sessions⟩ lists all sessions.",
    "model-name": "The model that answers, the precision of its numbers, and where it runs.",
    "kv-tokens": "Tokens in the KV cache, and how many may be in it: what budget and context allow, the smaller.",
    "kv-bytes": """Memory of the KV cache (keys and values of every token, on all layers):
━ used by tokens   ╍ held for the next ones   ≈ other sessions kept warm   ─ free within the limit
┿ ┼ target, soft and hard mark""",
    "kv-marks": """Where room is made, in tokens (▴ passed, ▵ not yet):
soft     above it, old turns are summarized when nothing else is to be done
hard     above it, before the next prompt is read
target   how small the cache is then""",
    "turn-no": "The number of the turn on this branch; of a draft: how many tokens are written.",
    "process-bytes": "Memory of the whole model process, as the system counts it (RSS).",
    "n-turns": "Turns that have ended in this session, on all its branches.",
    "events-key": "Opens the list of all events of this session.",
}


def described_model(gauges: Gauges) -> str:
    """Name, precision and device of the model, as far as they are known."""
    if gauges.ready is None:
        return gauges.model or "no model yet"
    precision = _PRECISIONS.get(gauges.ready.dtype, gauges.ready.dtype)
    return f"{gauges.ready.model} · {precision} · {gauges.ready.device}"


def described_tokens(gauges: Gauges, over: str) -> str:
    """Tokens in the KV of those that may be in it, and which mark is passed."""
    kv, ready = gauges.kv, gauges.ready
    limit = (kv.limit_tokens or kv.context_tokens) if kv else ready.context_tokens if ready else 0
    unit = f"over {over} ▴" if over else "tokens"
    return f"{gauges.tokens:,} / {limit:,} {unit}" if limit else f"{gauges.tokens:,} {unit}"


def described_bytes(kv: Kv) -> str:
    """Bytes used, held and allowed; in place of those held, other sessions' where there are any."""
    used, reserved, budget = map(units.mib, (kv.used_bytes, kv.reserved_bytes, kv.budget_bytes))
    if kv.warm_bytes:
        return f"{used} used · {units.mib(kv.warm_bytes)} warm of {budget} MiB"
    return f"{used} used · {reserved} held of {budget} MiB"


def described_turn(gauges: Gauges) -> str:
    """Which turn the figures are about."""
    if gauges.coming is not None:
        return f"draft · {units.plural(gauges.coming.tokens, 'token')}"
    row = gauges.current
    if row is None:
        return ""
    return (
        f"{row.turn} · {'reading' if gauges.phase == 'prefill' else 'answering'}"
        if row.live
        else str(row.turn)
    )


def counted(gauges: Gauges) -> dict[str, str]:
    """What the turn that runs, or the last one, took; of one that is being written, what was read ahead."""
    if gauges.coming is not None:
        return {"early": f"{gauges.coming.prefilled:,}"}
    row = gauges.current
    if row is None:
        return {}
    values = {
        "prefilled": f"{row.prefilled:,}",
        "decoded": f"{row.decoded:,}",
        "recalled": f"{row.recalled:,}",
    }
    values |= {} if row.reused is None else {"reused": f"{row.reused:,}"}
    values |= {} if row.early is None else {"early": f"{row.early:,}"}
    values |= {} if row.ttft_s is None else {"ttft": f"{units.seconds(row.ttft_s)} s"}
    return values | ({"rate": units.rate(row.tpot_s)} if row.tpot_s else {})


def accounted(kv: Kv) -> str:
    """All bytes in words, for small terminals that show no more of them; empty where nothing is known."""
    sizes = (kv.weights_bytes, kv.second_bytes, kv.scratch_bytes, kv.slack_bytes)
    parts = [
        f"{label} {units.size(nbytes)}"
        for (label, _), nbytes in zip(BYTES.values(), sizes, strict=True)
        if nbytes
    ]
    if kv.warm_sessions:
        warm = f"{units.plural(kv.warm_sessions, 'other session')} kept warm"
        parts.append(f"{warm} {units.size(kv.warm_bytes)}")
    return " · ".join([*parts, *([f"process {units.size(kv.rss_bytes)}"] if kv.rss_bytes else [])])
