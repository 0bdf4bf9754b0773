"""Newer statements against older ones: what is corrected is mended or dropped.

Where that is not certain, the older statement stays but may only stand together with the newer one. Works on the
wording alone: what is taken back by name, one value in place of another of its kind, words that both share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from chatkv.memory.summary import cues
from chatkv.memory.summary.extract import Statement
from chatkv.memory.summary.text import Mark, stems

_UNITS = stems(
    "euros dollars pounds kroner kronor francs month week year day hour time number new old tell told call"
)
_LEAST_SHARED, _NEAR_BEST, _BY_NAME = 0.3, 0.75, 4.0
_COMMON = 12


def settle(statements: Sequence[Statement]) -> list[Statement]:
    """`statements`, ordered from the oldest, after each that corrects an older one has done so."""
    spread = Counter(word for statement in statements for word in _words(statement))
    alive: list[Statement] = []
    for new in statements:
        if new.source in ("user", "said") and (new.changes or new.slot):
            corrected = _corrected(new, alive, spread)
            mended = {old.place: _mended(old, new) for old in corrected}
            if any(
                not left or left[0].text == old.text
                for old, left in zip(corrected, mended.values(), strict=True)
            ):
                new = replace(new, worth=new.worth + cues.CORRECTS)
            alive = [one for old in alive for one in mended.get(old.place, [old])]
        alive.append(new)
    return alive


def _corrected(new: Statement, alive: Sequence[Statement], spread: Counter[str]) -> list[Statement]:
    """The older statements that `new` takes back, in whole or in part."""
    older = [old for old in alive if (old.turn, old.source) != (new.turn, new.source)]
    same = [
        old
        for old in older
        if new.slot and old.slot == new.slot and (_rivals(old, new) or _one_only(new.slot))
    ]
    if same or not new.changes:
        return same
    words, taken, taken_words = _words(new), new.denied, stems(cues.denied(new.text))
    scored: list[tuple[float, Statement]] = []
    for old in older:
        if new.live and new.live.keys() <= old.live.keys():
            continue
        shared = sum(1.5 / spread[word] for word in words & _words(old) if spread[word] < _COMMON)
        if taken & _loose(old.marks) or _mostly(taken_words, old.stems):
            scored.append((shared + _BY_NAME, old))
        elif shared >= _LEAST_SHARED and _may_replace(old, new):
            scored.append((shared, old))
    best = max((score for score, _ in scored), default=0.0)
    found = [old for score, old in scored if score >= _NEAR_BEST * best]
    return found or _only_rival(new, older)


def _one_only(slot: str) -> bool:
    """Nobody has two favourite colours or wants two first names, whatever the words."""
    return slot.startswith(("favo", "call me"))


def _may_replace(old: Statement, new: Statement) -> bool:
    """A statement that says how things are now counts only where a number or date differs."""
    rivals = _rivals(old, new)
    return bool(rivals or not new.marks) if new.corrects else bool(rivals - {"name"})


def _only_rival(new: Statement, older: Iterable[Statement]) -> list[Statement]:
    """The one older statement with another value of the same kind and form, where no word is shared."""
    forms = _forms(new)
    found = [old for old in older if forms & _forms(old)]
    return found if len(found) == 1 else []


def _forms(statement: Statement) -> set[tuple[str, str]]:
    """Kind and shape of its numbers and dates: 34 and 31 are alike, 3.45 and 9250 are not."""
    return {
        (mark.kind, re.sub(r"\d", "0", mark.key)) for mark in statement.live.values() if mark.kind != "name"
    }


def _mended(old: Statement, new: Statement) -> list[Statement]:
    """What is left of `old` once `new` is said."""
    gone, come = _exchange(old, new)
    if gone and come and old.source != "edited":
        text = re.sub(rf"(?<!\w){re.escape(gone.surface)}(?!\w)", lambda _: come.surface, old.text)
        swapped = tuple(replace(come, weight=gone.weight) if mark == gone else mark for mark in old.marks)
        return [replace(old, text=text, marks=swapped)]
    kinds = _rivals(old, new)
    dead = old.dead | {mark.id for mark in old.marks if mark.key in new.denied}
    dead |= {mark.id for mark in old.marks if _kind(mark) in kinds and mark.id not in new.live}
    sure = new.corrects or (new.slot and new.slot == old.slot)
    lost = old.live.keys() - dead - new.live.keys()
    if sure and not lost and old.source != "edited" and (dead or not old.marks) and _close(old, new):
        return []
    return [replace(old, dead=dead, needs=old.needs | {new.place})]


def _close(old: Statement, new: Statement) -> bool:
    """Whether `new` is about the same, so that nothing is lost with `old`."""
    if new.slot and new.slot == old.slot:
        return True
    by_name = new.denied & _loose(old.marks) or _mostly(stems(cues.denied(new.text)), old.stems)
    return bool(by_name) or len(_words(old) & _words(new)) * 3 >= len(_words(old))


def _exchange(old: Statement, new: Statement) -> tuple[Mark | None, Mark | None]:
    """The mark of `old` that `new` replaces and the one it puts there, where there is no doubt about either."""
    gone = [mark for mark in old.marks if mark.key in new.denied]
    if not gone and new.corrects and _alike(old, new):
        kinds = _rivals(old, new)
        gone = [mark for key, mark in old.live.items() if _kind(mark) in kinds and key not in new.live]
    if len(gone) != 1 or gone[0].id in old.dead:
        return None, None
    fresh = [mark for key, mark in new.live.items() if key not in old.live and mark.key != gone[0].key]
    come = [mark for mark in fresh if _kind(mark) == _kind(gone[0])]
    return (gone[0], come[0]) if len(come) == 1 else (None, None)


def _alike(old: Statement, new: Statement) -> bool:
    """Whether `new` is `old` with one value changed: half of its words, no other name or number."""
    shared = _words(old) & _words(new)
    fresh = [mark for key, mark in new.live.items() if key not in old.live]
    return len(fresh) == 1 and len(shared) >= 2 and len(shared) * 2 >= len(_words(new))


def _rivals(old: Statement, new: Statement) -> set[str]:
    """Kinds of which `new` gives a value that `old` has not, while `old` has one too."""
    return {_kind(mark) for key, mark in new.live.items() if key not in old.live} & set(
        map(_kind, old.live.values())
    )


def _kind(mark: Mark) -> str:
    return mark.id[0]


def _loose(found: Iterable[Mark]) -> set[str]:
    """Marks by their key alone: "the 12th" takes back "August 12"."""
    return {mark.key for mark in found}


def _mostly(part: frozenset[str], whole: frozenset[str]) -> bool:
    return bool(part) and len(part & whole) * 2 > len(part)


def _words(statement: Statement) -> frozenset[str]:
    """What two statements about the same thing share: content words, names, codes and months."""
    named = {mark.key for mark in statement.marks if mark.kind in ("name", "code", "month")}
    return (statement.stems | named) - _UNITS
