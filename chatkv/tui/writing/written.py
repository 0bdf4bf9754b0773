"""What is in the composer, as plain data: the text as it would be sent, and what of it stands there as a label."""

from __future__ import annotations

from dataclasses import dataclass

Labels = tuple[tuple[int, int, str], ...]
"""Stretches of a text that are shown as a label: start, length, label; ascending, apart from each other."""


@dataclass(frozen=True, slots=True)
class Written:
    """A text, exact, and the labels that stand for parts of it."""

    text: str
    labels: Labels = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """The composer at one moment."""

    now: Written
    draft: Written
    """The same, or while an earlier message is edited, what had been written before."""


EMPTY = Written("")


def relabelled(text: str, before: Written) -> Written:
    """`text`, with the labels of `before` where what they stand for is still in it."""
    labels: list[tuple[int, int, str]] = []
    at = 0
    for start, length, label in before.labels:
        found = text.find(before.text[start : start + length], at)
        if found >= 0:
            labels.append((found, length, label))
            at = found + length
    return Written(text, tuple(labels))
