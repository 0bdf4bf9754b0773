"""The ledger against the plainest model there is: a list of (id, owner)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from chatkv.kv.ledger import _STRIDE, Ledger, clip, common_prefix
from chatkv.tokens import Segment

Owner = tuple[str, int]

ids = st.lists(st.integers(0, 3), max_size=12)
kinds = st.sampled_from(["system", "user", "answer", "wrapper"])
turns = st.integers(0, 2)
tiers = st.sampled_from(["E0", "E1", "E2"])
segments = st.builds(Segment, kinds, turns, st.integers(0, 9))


def owners(runs: tuple[Segment, ...] | list[Segment]) -> list[Owner]:
    return [(run.kind, run.turn) for run in runs for _ in range(run.n_tokens)]


def tiers_of(runs: tuple[Segment, ...]) -> list[str]:
    return [run.tier for run in runs for _ in range(run.n_tokens)]


def naive_prefix(a: list[int], b: list[int]) -> int:
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    return sum(1 for _ in pairs)


class LedgerMachine(RuleBasedStateMachine):
    """Every operation in every order; the model is two lists and a number."""

    @initialize()
    def start(self) -> None:
        self.ledger = Ledger()
        self.ids: list[int] = []
        self.owners: list[Owner] = []
        self.tiers: list[str] = []
        self.low = 0

    @rule(new=ids, kind=kinds, turn=turns)
    def append(self, new: list[int], kind: str, turn: int) -> None:
        self.ledger.append(new, kind, turn)
        self.ids += new
        self.owners += [(kind, turn)] * len(new)
        self.tiers += ["E2" if "E2" in self.tiers else "E0"] * len(new)

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        n = data.draw(st.integers(0, len(self.ids)))
        self.ledger.truncate(n)
        del self.ids[n:], self.owners[n:], self.tiers[n:]
        self.low = min(self.low, n)

    @rule(labels=st.lists(segments, max_size=8), kind=kinds, beyond=st.integers(0, 5))
    def relabel(self, labels: list[Segment], kind: str, beyond: int) -> None:
        labelled = sum(run.n_tokens for run in labels)
        labels = [*labels, Segment(kind, 9, max(0, len(self.ids) - labelled) + beyond)]
        self.ledger.relabel(iter(labels))
        self.owners = owners(labels)[: len(self.ids)]

    @precondition(lambda self: self.ids)
    @rule()
    def labels_that_do_not_cover_are_refused(self) -> None:
        with pytest.raises(AssertionError):
            self.ledger.relabel([Segment("user", 1, len(self.ids) - 1)])

    @rule(over=st.integers(1, 3))
    def lengths_that_are_not_there_are_refused(self, over: int) -> None:
        for n in (len(self.ids) + over, -over):
            with pytest.raises(AssertionError):
                self.ledger.truncate(n)

    @rule(data=st.data(), tier=tiers)
    def retier(self, data: st.DataObject, tier: str) -> None:
        start = data.draw(st.integers(0, len(self.ids)))
        end = data.draw(st.integers(start, len(self.ids)))
        self.ledger.retier(start, end, tier)
        self.tiers[start:end] = [tier] * (end - start)

    @rule(data=st.data())
    def copy(self, data: st.DataObject) -> None:
        n = data.draw(st.integers(0, len(self.ids)))
        twin = self.ledger.copy(n)
        assert list(twin.ids) == self.ids[:n]
        assert (owners(twin.segments), tiers_of(twin.segments)) == (self.owners[:n], self.tiers[:n])

    @rule()
    def mark(self) -> None:
        self.ledger.mark()
        self.low = len(self.ids)

    @rule(data=st.data(), tail=ids, as_tuple=st.booleans())
    def shared(self, data: st.DataObject, tail: list[int], as_tuple: bool) -> None:
        prompt = self.ids[: data.draw(st.integers(0, len(self.ids)))] + tail
        assert self.ledger.shared(tuple(prompt) if as_tuple else prompt) == naive_prefix(self.ids, prompt)

    @invariant()
    def holds_the_ids_and_their_owners(self) -> None:
        assert list(self.ledger.ids) == self.ids
        assert len(self.ledger) == len(self.ids)
        assert owners(self.ledger.segments) == self.owners
        assert tiers_of(self.ledger.segments) == self.tiers
        for tier in ("E1", "E2"):
            assert self.ledger.first_of(tier) == (self.tiers.index(tier) if tier in self.tiers else None)
        assert sum(run.n_tokens for run in self.ledger.segments) == len(self.ids)
        assert all(run.n_tokens > 0 for run in self.ledger.segments)

    @invariant()
    def knows_how_short_it_has_been(self) -> None:
        assert self.ledger.low == self.low <= len(self.ids)


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(max_examples=60, stateful_step_count=25)


def test_an_owners_run_grows_instead_of_multiplying() -> None:
    ledger = Ledger()
    for token in range(5):
        ledger.append([token], "answer", 1)
    ledger.append([9], "answer", 2)
    assert ledger.segments == (Segment("answer", 1, 5), Segment("answer", 2, 1))


def test_what_follows_moved_tokens_is_as_inexact_as_they_are() -> None:
    ledger = Ledger()
    ledger.append([1, 2, 3], "answer", 1)
    ledger.retier(1, 2, "E2")
    ledger.append([4], "answer", 1)
    assert [(run.n_tokens, run.tier) for run in ledger.segments] == [
        (1, "E0"),
        (1, "E2"),
        (1, "E0"),
        (1, "E2"),
    ]
    ledger.retier(0, 4, "E1")
    ledger.append([5], "answer", 1)
    assert [(run.n_tokens, run.tier) for run in ledger.segments] == [(4, "E1"), (1, "E0")]


def test_segments_given_out_earlier_do_not_change() -> None:
    ledger = Ledger()
    ledger.append([1], "user", 1)
    before = ledger.segments
    ledger.append([2], "user", 1)
    ledger.truncate(0)
    assert before == (Segment("user", 1, 1),)


def test_what_was_fed_after_the_mark_lies_above_low() -> None:
    ledger = Ledger()
    ledger.append(range(10), "user", 1)
    ledger.mark()
    ledger.truncate(6)
    ledger.append(range(6), "answer", 1)
    assert (ledger.low, len(ledger)) == (6, 12)


@given(st.lists(segments, max_size=8), st.integers(0, 40))
def test_clip_keeps_the_first_ids_owners(runs: list[Segment], n: int) -> None:
    assert owners(clip(runs, n)) == owners(runs)[:n]


@settings(max_examples=60)
@given(
    n=st.integers(0, 4 * _STRIDE),
    m=st.integers(0, 4 * _STRIDE),
    differing=st.lists(st.integers(0, 4 * _STRIDE), max_size=2),
)
def test_long_prefixes_equal_the_naive_count(n: int, m: int, differing: list[int]) -> None:
    a, b = list(range(n)), list(range(m))
    for at in differing:
        if at < m:
            b[at] = -1
    expected = naive_prefix(a, b)
    assert common_prefix(a, b) == common_prefix(b, a) == expected
    assert common_prefix(tuple(a), b) == common_prefix(range(n), b) == expected


@pytest.mark.parametrize("n", [0, 1, _STRIDE - 1, _STRIDE, _STRIDE + 1, 2 * _STRIDE, 100_000])
def test_equal_lists_share_everything(n: int) -> None:
    a = list(range(n))
    assert common_prefix(a, list(a)) == n
    assert common_prefix(a, [*a, 1]) == n
    if n:
        assert common_prefix(a, [*a[:-1], -1]) == n - 1
