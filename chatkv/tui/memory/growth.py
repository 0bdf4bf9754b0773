"""The growth of the KV cache as columns: one a turn, a live one, one for a draft that is read ahead. Plain data."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from chatkv.tui import units
from chatkv.tui.memory.gauges import Gauges, TurnRow

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_SHADED = {"kept": "░", "early": "▒", "new": "█"}


@dataclass(frozen=True, slots=True)
class Column:
    """Tokens in the KV at the end of a turn: `kept` from before, prefilled `early`, and `new` ones."""

    turn: int
    kept: int
    early: int
    new: int
    made_room: bool = False
    """Room was made before it."""
    state: str = ""
    """`live` for the running turn, `draft` for the one that is being written, `next` for what room was made for."""

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.kept + self.early + self.new

    @property
    def name(self) -> str:
        """Its number, as it stands below the chart."""
        return f"{self.turn}…" if self.state else str(self.turn)


def columns(gauges: Gauges, count: int) -> tuple[Column, ...]:
    """The newest `count` columns, oldest first. Costs no more for a long conversation than for a short one."""
    rows = gauges.rows
    live = gauges.current if gauges.live else None
    coming = gauges.coming
    n_past = max(0, count - expects_more(gauges))
    first = max(0, len(rows) - n_past)
    made = {n for n in gauges.compactions if n >= first}
    line = [_column(row, first + n in made) for n, row in enumerate(rows[first:] if n_past else ())]
    if live is not None:
        line.append(_column(live, len(rows) in made))
    elif count and expects_more(gauges):
        early = coming.prefilled if coming else 0
        turn = rows[-1].turn + 1 if rows else 1
        state = "draft" if coming else "next"
        line.append(Column(turn, max(0, gauges.tokens - early), early, 0, len(rows) in made, state))
    return tuple(line)


def expects_more(gauges: Gauges) -> bool:
    """Whether a column stands behind those of the turns that have ended."""
    made_now = bool(gauges.compactions) and gauges.compactions[-1] == len(gauges.rows)
    return gauges.live or gauges.coming is not None or (made_now and gauges.kv is not None)


def _column(row: TurnRow, made_room: bool) -> Column:
    new = min(row.kv_tokens, row.prefilled + row.decoded)
    early = min(row.kv_tokens - new, row.early or 0)
    return Column(row.turn, row.kv_tokens - new - early, early, new, made_room, "live" if row.live else "")


def spoken(column: Column) -> str:
    """A column in words."""
    state = {"live": " (running)", "draft": " (your draft, read ahead)", "next": " (to come)"}.get(
        column.state, ""
    )
    parts = [f"{column.kept:,} kept"]
    parts += [f"{column.early:,} early"] if column.early else []
    parts += [f"{column.new:,} new"] if column.new else []
    room = "\n▾ room was made before it" if column.made_room else ""
    tokens = units.plural(column.tokens, "token")
    return f"Turn {column.turn}{state}: {tokens} in the KV cache\n{' · '.join(parts)}{room}"


def full(tokens: int) -> int:
    """The height of a chart with so many tokens: a little more, so that it seldom changes while they grow."""
    step = max(16, (1 << tokens.bit_length()) // 32)
    return max(step, -(-tokens // step) * step)


@functools.lru_cache(maxsize=1024)
def stack(column: Column, height: int, top: int, *, shaded: bool = False) -> tuple[tuple[str, str], ...]:
    """A column in `height` cells, lowest first, where `top` tokens fill them: look and glyph of each cell.

    The look is `kept`, `early` or `new`; or two of them, the lower first, where they meet within the cell. `shaded`:
    parts differ by glyph alone.
    """
    parts = (("kept", column.kept), ("early", column.early), ("new", column.new))
    edges, tokens = [], 0
    for look, size in parts:
        tokens += size
        if size:
            edges.append((look, max(1, round(tokens * height * 8 / top))))
    return tuple(_cell(edges, 8 * n, shaded=shaded) for n in range(height))


def _cell(edges: list[tuple[str, int]], floor: int, *, shaded: bool) -> tuple[str, str]:
    """The part of a column between `floor` and `floor` + 8 eighths."""
    here = [(look, edge - floor) for look, edge in edges if edge > floor]
    if not here:
        return "kept", " "
    look, edge = here[0]
    if edge >= 8:
        return look, _SHADED[look] if shaded or look == "early" else "█"
    above = next((other for other, other_edge in here[1:] if other_edge > edge), "")
    if above and shaded:
        return look, _SHADED[look if edge >= 4 else above]
    # A cell has two colours: where two parts meet in it, the upper one is drawn to its full height.
    return f"{look} {above}".strip(), _EIGHTHS[edge]
