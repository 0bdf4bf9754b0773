"""What of a branch stands in the context: marks, summaries and pins across edits and forks, from the store alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.session.context import Context, Round, turn_sizes
from chatkv.store import MessageRecord, Store
from chatkv.tokens import Rendered, Segment


class Branches:
    """A session in a store, and the context over it; `say` adds a turn at the end of the branch in use."""

    def __init__(self, file: Path) -> None:
        self.store = Store.open(file)
        self.record = self.store.create_session("m", "title", "be kind")
        self.context = Context(self.store, self.record, "be kind")

    def say(self, text: str) -> MessageRecord:
        leaf = self.context.leaf
        parent, turn = (leaf.id, leaf.turn + 1) if leaf else (None, 1)
        user, answer = self.store.add_exchange(self.record.id, parent, text, turn, "m")
        self.store.update_answer(
            answer.id, text=f"re {text}", thought="", ids=(9,), answer_start=0, status="complete"
        )
        self.context.follow(self.store.path(answer.id))
        return user

    def summarize(self, *turns: int, text: str = "so far", edited: str = "") -> None:
        self.context.adopt(self.context.drafted(turns, text, origin="model", edited=edited))

    def go_to(self, message_id: int | None) -> None:
        self.context.follow(self.store.path(message_id))

    def again(self) -> Context:
        """The context as another process finds it."""
        leaf = self.context.leaf
        self.store.set_leaf(self.record.id, leaf.id if leaf else None)
        return Context(self.store, self.store.session(self.record.id), "be kind")

    def round(self, turn: int) -> Round:
        return next(round for round in self.context.rounds if round.turn == turn)

    @property
    def marks(self) -> list[str]:
        return [mark.mark for mark in self.context.marks().turns]

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.context.messages()]


@pytest.fixture
def branches(tmp_path: Path) -> Iterator[Branches]:
    branches = Branches(tmp_path / "t.db")
    for n in range(1, 6):
        branches.say(f"q{n}")
    yield branches
    branches.store.close()


def test_before_any_compaction_everything_is_verbatim(branches: Branches) -> None:
    assert branches.marks == ["verbatim"] * 5
    assert branches.texts == ["be kind", *(text for n in range(1, 6) for text in (f"q{n}", f"re q{n}"))]
    assert branches.context.gone() == frozenset()
    assert branches.context.undo() is None


def test_a_summary_stands_for_what_went_and_follows_the_system_prompt(branches: Branches) -> None:
    branches.summarize(1, 2, text="two turns")
    assert branches.marks == ["summarized", "summarized", "verbatim", "verbatim", "verbatim"]
    seen = branches.context.messages()
    assert [(message.role, message.is_summary) for message in seen[:3]] == [
        ("system", False),
        ("system", True),
        ("user", False),
    ]
    assert seen[1].text.endswith("two turns")
    assert [message.text for message in seen[2:4]] == ["q3", "re q3"]


def test_without_a_text_turns_are_archived_and_nothing_stands_for_them(branches: Branches) -> None:
    branches.summarize(1, 2, text="")
    assert branches.marks == ["archived", "archived", "verbatim", "verbatim", "verbatim"]
    assert branches.texts[:2] == ["be kind", "q3"]


def test_turns_that_stay_between_those_that_go_are_listed_and_stay(branches: Branches) -> None:
    branches.summarize(1, 3)
    kept = branches.context.summary
    assert kept is not None
    assert kept.kept == (branches.round(2).user_id,)
    assert branches.marks == ["summarized", "verbatim", "summarized", "verbatim", "verbatim"]
    branches.summarize(4)
    assert branches.context.gone() == {1, 3, 4}
    branches.summarize(2)
    assert branches.context.gone() == {1, 2, 3, 4}
    assert branches.context.summary is not None
    assert branches.context.summary.kept == ()


def test_a_pinned_turn_stays_and_comes_back_whenever_it_is_pinned(branches: Branches) -> None:
    branches.context.pin(branches.round(2), pinned=True)
    branches.summarize(1, 3)
    assert branches.marks[:3] == ["summarized", "pinned", "summarized"]
    branches.context.pin(branches.round(1), pinned=True)
    assert branches.marks[:3] == ["pinned", "pinned", "summarized"]
    branches.context.pin(branches.round(2), pinned=False)
    branches.context.pin(branches.round(1), pinned=False)
    assert branches.marks[:3] == ["summarized", "verbatim", "summarized"]  # the second was never summarized


def test_undo_lets_each_summary_before_stand_again(branches: Branches) -> None:
    branches.summarize(1, text="one")
    branches.summarize(2, 3, text="two")
    undone = branches.context.undo()
    assert undone is not None
    assert undone.text == "two"
    assert branches.marks == ["summarized"] + ["verbatim"] * 4
    assert branches.again().gone() == {1}
    branches.context.undo()
    assert branches.marks == ["verbatim"] * 5
    assert branches.again().summary is None


def test_a_summary_is_in_force_only_where_its_last_message_is(branches: Branches) -> None:
    answers = [round.messages[-1].id for round in branches.context.rounds]
    branches.summarize(1, text="one")
    branches.summarize(2, 3, text="three")
    branches.go_to(answers[1])
    assert branches.marks == ["summarized", "verbatim"]
    assert branches.context.summary is not None
    assert branches.context.summary.text == "one"
    branches.say("another third")
    assert branches.marks == ["summarized", "verbatim", "verbatim"]
    branches.summarize(2, text="elsewhere")
    assert branches.context.summary.text == "elsewhere"
    branches.go_to(None)
    assert branches.marks == []
    assert branches.context.gone() == frozenset()


def test_what_is_summarized_on_another_branch_changes_nothing_on_this_one(branches: Branches) -> None:
    answers = [round.messages[-1].id for round in branches.context.rounds]
    branches.summarize(1, text="one")
    branches.summarize(2, 3, text="three", edited="mine")
    branches.go_to(answers[1])
    branches.say("another third")
    branches.summarize(2, text="elsewhere")
    branches.go_to(answers[4])
    assert branches.context.summary is not None
    assert branches.context.summary.text == "three"
    assert branches.context.gone() == {1, 2, 3}


def test_a_summary_after_its_last_turn_was_pinned_still_reaches_as_far(branches: Branches) -> None:
    branches.summarize(1, 3, text="one and three")
    branches.context.pin(branches.round(3), pinned=True)
    branches.summarize(2, text="all but the third")
    assert branches.context.summary is not None
    assert branches.context.summary.text == "all but the third"
    assert branches.context.gone() == {1, 2}
    branches.context.pin(branches.round(3), pinned=False)
    assert branches.context.gone() <= {1, 2, 3}
    assert branches.again().summary == branches.context.summary


def test_another_answer_to_the_last_summarized_question_is_another_branch(branches: Branches) -> None:
    """What a summary says was answered must not stand beside another answer."""
    branches.summarize(1, 2)
    second = branches.round(2).messages
    other = branches.store.add_message(branches.record.id, second[0].id, "assistant", "else", turn=2)
    branches.go_to(other.id)
    assert branches.context.summary is None
    assert branches.marks == ["verbatim", "verbatim"]


def test_another_process_finds_the_same(branches: Branches) -> None:
    branches.context.pin(branches.round(2), pinned=True)
    branches.summarize(1, 3, text="s", edited="mine")
    again = branches.again()
    assert again.marks() == branches.context.marks()
    assert again.summary == branches.context.summary
    assert again.messages() == branches.context.messages()


def test_what_was_recalled_goes_along_with_its_message_alone(branches: Branches) -> None:
    asked = branches.say("and?")
    branches.store.set_recalled(asked.id, "earlier")
    branches.go_to(branches.store.path(branches.context.path[-1].id)[-1].id)
    assert [message.recalled for message in branches.context.messages()][-2:] == ["", ""]
    assert branches.context.messages(recalled_for=asked.id)[-2].recalled == "earlier"
    branches.context.keeps_recalled = True
    assert branches.context.messages()[-2].recalled == "earlier"


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("say")),
        st.tuples(st.just("say")),
        st.tuples(st.just("summarize"), st.sets(st.integers(0, 7), min_size=1), st.booleans()),
        st.tuples(st.just("pin"), st.integers(0, 7), st.booleans()),
        st.tuples(st.just("undo")),
        st.tuples(st.just("go to"), st.integers(0, 30)),
    ),
    max_size=14,
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(acts=ACTS)
def test_whatever_is_done_every_turn_has_one_mark_and_another_process_agrees(
    acts: list[tuple[Any, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        branches = Branches(Path(folder) / "t.db")
        messages = [branches.say("q").id]
        for act, *details in acts:
            before, rounds = branches.context.gone(), branches.context.in_context()
            if act == "say":
                branches.say("q")
                messages += [message.id for message in branches.context.path[-2:]]
                assert branches.context.gone() == before
            elif act == "summarize" and (going := [r.turn for i, r in enumerate(rounds) if i in details[0]]):
                branches.summarize(*going, text="s" if details[1] else "")
                assert branches.context.gone() == (before | set(going)) - {
                    round.turn for round in branches.context.rounds if round.user_id in branches.context.pins
                }
            elif act == "pin" and branches.context.rounds:
                wanted = branches.context.rounds[details[0] % len(branches.context.rounds)]
                branches.context.pin(wanted, pinned=details[1])
                assert not details[1] or wanted.turn not in branches.context.gone()
            elif act == "undo":
                branches.context.undo()
            elif act == "go to":
                chosen = branches.store.newest_leaf(messages[details[0] % len(messages)])
                branches.go_to(chosen.id if details[0] % 2 else chosen.parent_id)
            check(branches)
        branches.store.close()


def check(branches: Branches) -> None:
    """Every turn has a mark, and it is what the model sees."""
    context = branches.context
    gone = context.gone()
    assert [mark.turn for mark in context.marks().turns] == [round.turn for round in context.rounds]
    assert {round.turn for round in context.in_context()} == {r.turn for r in context.rounds} - gone
    assert {round.turn for round in context.rounds if round.user_id in context.pins}.isdisjoint(gone)
    seen = {message.turn for message in context.messages() if message.role != "system"}
    assert seen == {round.turn for round in context.in_context()}
    if context.path:
        assert branches.again().marks() == context.marks()


def test_sizes_by_turn_add_up_to_the_whole() -> None:
    owners = [
        ("system", 0, 5),
        ("summary", 0, 7),
        ("wrapper", 1, 2),
        ("user", 1, 9),
        ("answer", 1, 4),
        ("wrapper", 2, 3),
    ]
    segments = tuple(Segment(*owner) for owner in owners)
    prompt = Rendered(tuple(range(30)), segments)
    assert turn_sizes(prompt) == {0: 12, 1: 15, 2: 3}
    assert turn_sizes(Rendered((), ())) == {}
