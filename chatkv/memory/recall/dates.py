"""Days, months and years named in a question, and how near a moment is to them. Knows nothing of messages."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MONTHS = re.findall(
    r"\w+", "January February March April May June July August September October November December"
)
"""English names of the months, whatever the system's language."""
_NUMBERS = {name[:n].lower(): k for k, name in enumerate(MONTHS, 1) for n in (3, len(name))} | {"sept": 9}
_NAMED = re.compile(
    r"(?:\b(?P<before>\d{1,2})(?:st|nd|rd|th)?(?: of)?[ .]*)?"
    rf"\b(?P<month>{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\b\.?"
    r"(?: (?:the )?(?P<after>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,? ?(?:of )?(?P<year>\d{4})\b)?"
)
_ISO = re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?\b")
_EAST = re.compile(r"(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?:(?P<day>\d{1,2})日)?")
# Words that are months only beside a number or after these.
_DOUBTFUL = ("may", "mar", "march")
_LEADS = re.compile(r"\b(?:in|of|since|until|by|last|early|late|mid)\W$")
_NEAR_DAYS = 7.0


@dataclass(frozen=True, slots=True)
class Date:
    """A month, or a day in it. None: any year; no day."""

    year: int | None
    month: int
    day: int | None


def dates_in(question: str) -> list[Date]:
    """The dates that `question` names."""
    text = question.lower()
    return [date for date in _all(text) if 1 <= date.month <= 12 and 1 <= (date.day or 1) <= 31]


def nearness(dates: list[Date], moments: NDArray[np.float64]) -> NDArray[np.float32]:
    """How near each of `moments` (seconds since the epoch, in local time; 0: unknown) is to a date: 0 to 1.

    1 on the day itself, less by a factor e for every week from it; 0.5 anywhere in a month named without a day.
    """
    near = np.zeros(len(moments), np.float32)
    days, index = np.unique(np.floor(moments / 3600), return_inverse=True)
    known = [dt.datetime.fromtimestamp(hour * 3600).date() if hour > 0 else None for hour in days]
    for date in dates:
        values = [_nearness(date, day) if day else 0.0 for day in known]
        near = np.maximum(near, np.array(values, np.float32)[index])
    return near


def _all(text: str) -> Iterator[Date]:
    for match in _NAMED.finditer(text):
        day, year = match["before"] or match["after"], match["year"]
        bare = not day and not year and match["month"] in _DOUBTFUL
        if not bare or _LEADS.search(text[: match.start("month")]):
            yield Date(_number(year), _NUMBERS[match["month"]], _number(day))
    for pattern in (_ISO, _EAST):
        for match in pattern.finditer(text):
            yield Date(_number(match["year"]), int(match["month"]), _number(match["day"]))


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _nearness(date: Date, day: dt.date) -> float:
    if date.day is None:
        return 0.5 if day.month == date.month and date.year in (None, day.year) else 0.0
    try:
        meant = dt.date(date.year or day.year, date.month, date.day)
    except ValueError:  # 31 June, year 0
        return 0.0
    return float(np.exp(-abs((day - meant).days) / _NEAR_DAYS))
