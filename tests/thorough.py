"""How much is tried: what every run can afford, or with `CHATKV_TEST_THOROUGH=1` all that was ever worth trying."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

THOROUGH = os.environ.get("CHATKV_TEST_THOROUGH", "0") != "0"
Case = TypeVar("Case")


def examples(usual: int, thorough: int) -> int:
    """How many examples hypothesis is to make."""
    return thorough if THOROUGH else usual


def cases(thorough: Iterable[Case], usual: Iterable[Case]) -> list[Case]:
    """What a test is run with; `usual` is a part of `thorough`."""
    every, some = list(thorough), list(usual)
    assert all(case in every for case in some)
    return every if THOROUGH else some
