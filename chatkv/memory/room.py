"""How the tokens of a budget are shared out, so that compaction itself always fits. Plain arithmetic.

Knows nothing of bytes: budget and context have become one limit in tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

from chatkv.config import MemoryConfig

_SUMMARY_SHARE = 16
_SUMMARY_TOKENS = (48, 768)
_RECALL_SHARE = 4
_MOST_RECALLED = 1024
_ANSWER_SHARE = 8
LEAST_ANSWER = 16
"""Tokens that an answer is worth beginning for."""
GLUE_TOKENS = 24
"""Closers and headers that a template puts around a message, with some to spare."""


@dataclass(frozen=True, slots=True)
class Room:
    """Shares of the KV, in tokens.

    A turn may fill the KV up to `ceiling`. Between it and `limit` there is room to ask for a summary, and, once
    that is rolled back, to build the new beginning beside the live KV. `request` is 0 where the limit is too small
    to ask the model: then sentences are extracted. `answer` is what a turn is given at least before the KV counts
    as full; `recall` is the most that is recalled for a turn. `soft`, `hard` and `target` are the marks.
    """

    limit: int
    ceiling: int
    request: int
    summary: int
    answer: int
    recall: int
    soft: int
    hard: int
    target: int


def share_out(limit: int, config: MemoryConfig, *, system: int, request: int, max_new_tokens: int) -> Room:
    """Share out `limit` tokens. `system` of them are the system prompt's; asking for a summary takes `request`."""
    low, high = _SUMMARY_TOKENS
    summary = config.summary_tokens or min(max(limit // _SUMMARY_SHARE, low), high)
    request += GLUE_TOKENS
    held_back = max(request + summary, system + summary + GLUE_TOKENS)
    if held_back > limit // 3:
        summary, request = min(summary, limit // 8), 0
        held_back = min(system + summary + GLUE_TOKENS, limit // 3)
    ceiling = limit - held_back
    answer = min(max_new_tokens, max(LEAST_ANSWER, limit // _ANSWER_SHARE))
    hard = min(int(limit * config.hard), ceiling)
    return Room(
        limit=limit,
        ceiling=ceiling,
        request=request,
        summary=summary,
        answer=answer,
        recall=config.recall_tokens or min(limit // _RECALL_SHARE, _MOST_RECALLED),
        soft=min(int(limit * config.soft), hard),
        hard=hard,
        target=min(int(limit * config.target), hard),
    )
