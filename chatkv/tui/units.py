"""Numbers as people read them: bytes, tokens, seconds, rates, dates. Plain functions, no state."""

from __future__ import annotations

from datetime import datetime

MIB = 1 << 20
NOTHING = "–"


def mib(nbytes: int) -> str:
    """Mebibytes without the unit, three digits or so: `0.42`, `12.3`, `1,024`."""
    size = nbytes / MIB
    return f"{size:,.0f}" if size >= 100 else f"{size:.1f}" if size >= 1 or size == 0 else f"{size:.2f}"


def size(nbytes: int) -> str:
    """Bytes with a fitting binary unit, in at most eight cells: `512 B`, `1.5 KiB`, `93.8 MiB`, `412 MiB`."""
    amount = float(nbytes)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.95 else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def compact(count: int) -> str:
    """A count in at most five cells: `9999`, `12.3k`, `123k`, `4.5M`."""
    if count < 10_000:
        return str(count)
    for unit in ("k", "M"):
        count_in_unit = count / 1000
        if count_in_unit < 99.95:
            return f"{count_in_unit:.1f}{unit}"
        if count_in_unit < 999.5 or unit == "M":
            return f"{count_in_unit:.0f}{unit}"
        count = round(count_in_unit)
    raise AssertionError("unreachable")


def seconds(elapsed_s: float | None) -> str:
    """Seconds without the unit, in at most four cells: `0.21`, `12.3`, `123`."""
    if elapsed_s is None:
        return NOTHING
    return (
        f"{elapsed_s:.2f}"
        if elapsed_s < 9.995
        else f"{elapsed_s:.1f}"
        if elapsed_s < 99.95
        else f"{elapsed_s:.0f}"
    )


def rate(tpot_s: float | None) -> str:
    """Tokens a second from seconds per token, in at most four cells."""
    if not tpot_s:
        return NOTHING
    per_s = 1 / tpot_s
    return f"{per_s:.1f}" if per_s < 99.95 else f"{per_s:.0f}"


def plural(count: int, noun: str) -> str:
    """`1 line`, `20,000 lines`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def when(moment_s: float, now_s: float) -> str:
    """A stored Unix time as seen from `now_s`: `14:05` today, `Tue 14:05` this week, else `2026-03-09`."""
    moment, now = datetime.fromtimestamp(moment_s), datetime.fromtimestamp(now_s)
    days = (now.date() - moment.date()).days
    if days <= 0:
        return moment.strftime("%H:%M")
    if days == 1:
        return moment.strftime("yesterday %H:%M")
    return moment.strftime("%a %H:%M" if days < 7 else "%Y-%m-%d")


def moment(moment_s: float, *, dated: bool = False) -> str:
    """A stored Unix time by itself: `14:05`, or `2026-03-09 14:05`."""
    return datetime.fromtimestamp(moment_s).strftime("%Y-%m-%d %H:%M" if dated else "%H:%M")
