"""What was measured of a model on this machine: how fast its KV comes back, and what int8 does to it.

Knows numbers by the model's fingerprint, nothing of how they were measured.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from chatkv.store.database import DatabaseFile

# A damaged row may hold anything.
_SELECT = """
    SELECT CAST(model AS TEXT) AS model, CAST(allowed AS INTEGER) AS allowed, CAST(kl AS REAL) AS kl,
        CAST(agreement AS REAL) AS agreement, CAST(n_tokens AS INTEGER) AS n_tokens FROM kv_verdicts"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether KV of a model may be kept in int8, and what that was decided by."""

    model: str
    """Its name, for people."""
    allowed: bool
    kl: float
    """Mean Kullback-Leibler divergence of what the model says on KV from int8, in nats; infinite if not a number."""
    agreement: float
    """Share of tokens after which the most probable one is the same."""
    n_tokens: int
    """Tokens that were compared."""


class Rates(DatabaseFile):
    """The part of the store that keeps what was measured."""

    def rates(self, fingerprint: str) -> tuple[float, float] | None:
        """(tokens a second prefilled, bytes a second read), as last measured here; None before."""
        with self._reading("read rates") as connection:
            row = connection.execute(
                "SELECT * FROM kv_rates WHERE fingerprint = ?", (fingerprint,)
            ).fetchone()
            return (row["prefill_tokens_per_s"], row["read_bytes_per_s"]) if row else None

    def set_rates(self, fingerprint: str, prefill_tokens_per_s: float, read_bytes_per_s: float) -> None:
        """Keep what was measured."""
        with self._writing("save rates") as connection:
            connection.execute(
                "INSERT OR REPLACE INTO kv_rates VALUES (?, ?, ?)",
                (fingerprint, prefill_tokens_per_s, read_bytes_per_s),
            )

    def verdict(self, fingerprint: str) -> Verdict | None:
        """What was found out about int8 for this model; None before."""
        with self._reading("read what int8 does") as connection:
            row = connection.execute(f"{_SELECT} WHERE fingerprint = ?", (fingerprint,)).fetchone()
            return _verdict(row) if row else None

    def set_verdict(self, fingerprint: str, verdict: Verdict) -> None:
        """Keep what was found out."""
        values = (fingerprint, verdict.model, verdict.allowed, verdict.kl, verdict.agreement)
        with self._writing("save what int8 does") as connection:
            connection.execute(
                "INSERT OR REPLACE INTO kv_verdicts VALUES (?, ?, ?, ?, ?, ?)", (*values, verdict.n_tokens)
            )

    def verdicts(self) -> list[Verdict]:
        """What was found out about every model, by name."""
        with self._reading("read what int8 does") as connection:
            return [_verdict(row) for row in connection.execute(f"{_SELECT} ORDER BY model, fingerprint")]


def _verdict(row: sqlite3.Row) -> Verdict:
    return Verdict(row["model"], row["allowed"] == 1, row["kl"], row["agreement"], row["n_tokens"])
