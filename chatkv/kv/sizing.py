"""How many tokens a buffer should hold and what they cost. Plain arithmetic, no tensors.

Growth is geometric, then in fixed steps: copying stays rare, and slack stays under 1/8 of what is used.
"""

from __future__ import annotations

SMALL_TOKENS = 256
"""A buffer that holds anything is never smaller than this."""
STEP_TOKENS = 2048
"""Largest growth at once."""
_ALIGN = 16


def grown_capacity(n_tokens: int, limit: int | None = None) -> int:
    """Capacity, in tokens, for a buffer that must hold `n_tokens`: at most 1.13 × beyond 1,024 tokens.

    `limit` caps the slack (the budget in tokens), never the need itself.
    """
    if n_tokens <= 4 * SMALL_TOKENS:
        capacity = -(-n_tokens // SMALL_TOKENS) * SMALL_TOKENS
    else:
        capacity = n_tokens + min(n_tokens // 9, STEP_TOKENS)
        capacity = -(-capacity // _ALIGN) * _ALIGN
    return capacity if limit is None else max(n_tokens, min(capacity, limit))


def is_oversized(capacity: int, n_tokens: int) -> bool:
    """Whether a buffer holds so much slack that giving it back is worth one copy."""
    return capacity > 1.15 * n_tokens and capacity > grown_capacity(n_tokens)


def tokens_within(budget_bytes: int, bytes_per_token: int, fixed_bytes: int = 0) -> int:
    """How many tokens fit `budget_bytes` when `fixed_bytes` are taken whatever the length (states)."""
    if bytes_per_token <= 0:
        return 1 << 40
    return max(0, budget_bytes - fixed_bytes) // bytes_per_token
