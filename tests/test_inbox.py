"""The worker's inbox: what waits, what a stop hits, and what the end of the input means."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from inboxes import SOON_S, in_thread, read, take

from chatkv.errors import UsageError
from chatkv.protocol import Close, Command, Regenerate, Send, Stats, Stop, to_json
from chatkv.worker import Inbox


class InboxMachine(RuleBasedStateMachine):
    """Every operation in every order; the model knows what waits, what runs and what was stopped."""

    @initialize()
    def start(self) -> None:
        self.inbox = Inbox()
        self.waiting: list[Command] = []
        self.running: Command | None = None
        self.stopped: list[Command] = []
        self.closing = False
        self.n_put = 0

    @rule(kind=st.sampled_from([Send, Regenerate]))
    def put(self, kind: type[Send] | type[Regenerate]) -> None:
        self.n_put += 1
        command = Send(str(self.n_put)) if kind is Send else Regenerate(self.n_put)
        self.inbox.put(command)
        self.waiting.append(command)

    @rule()
    def stop(self) -> None:
        self.inbox.put(Stop())
        self.stopped += [self.running] if self.running else self.waiting[:1]

    @rule()
    def close(self) -> None:
        self.inbox.put(Close())
        self.waiting.append(Close())
        self.closing = True

    @precondition(lambda self: self.waiting)
    @rule()
    def next(self) -> None:
        self.running = self.waiting.pop(0)
        assert self.inbox.next()[0] == self.running

    @rule()
    def finish(self) -> None:
        self.inbox.finish()
        self.running = None

    @invariant()
    def only_what_was_stopped_is_cancelled(self) -> None:
        assert self.inbox.cancelled() == (self.closing or self.running in self.stopped)

    @invariant()
    def is_empty_when_nothing_waits(self) -> None:
        assert self.inbox.is_empty() == (not self.waiting)


TestInbox = InboxMachine.TestCase
TestInbox.settings = settings(max_examples=60, stateful_step_count=25)


# ── stop ──


def test_stop_hits_what_runs_and_nothing_after_it() -> None:
    inbox = Inbox()
    read(inbox, Send("a"), Send("b"))
    inbox.next()
    assert not inbox.cancelled()
    inbox.put(Stop())
    inbox.put(Stop())
    assert inbox.cancelled()
    inbox.next()
    assert not inbox.cancelled()


def test_stop_before_the_first_command_was_taken_hits_that_one() -> None:
    inbox = Inbox()
    inbox.put(Send("a"))
    inbox.put(Send("b"))
    inbox.put(Stop())
    assert not inbox.cancelled(), "nothing runs yet"
    assert take(inbox, 1) == [Send("a")]
    assert inbox.cancelled()
    assert take(inbox, 1) == [Send("b")]
    assert not inbox.cancelled()


def test_stop_with_nothing_to_stop_is_forgotten() -> None:
    inbox = Inbox()
    inbox.put(Stop())
    assert inbox.is_empty()
    assert not inbox.cancelled()
    inbox.put(Send("a"))
    inbox.next()
    assert not inbox.cancelled()


def test_stop_during_idle_work_hits_the_command_that_came_meanwhile() -> None:
    inbox = Inbox()
    inbox.put(Send("done"))
    inbox.next()
    inbox.finish()
    inbox.put(Send("new"))
    inbox.put(Stop())
    assert not inbox.cancelled()
    inbox.next()
    assert inbox.cancelled()


def test_stop_is_no_command_in_the_line() -> None:
    inbox = Inbox()
    read(inbox, Stop(), Stats(), Stop(), Stop(), Send("x"))
    assert take(inbox, 3) == [Stats(), Send("x"), Close()]


def test_stop_from_another_thread_reaches_a_running_command() -> None:
    inbox = Inbox()
    running, heard = threading.Event(), threading.Event()

    def lines() -> Iterator[str]:
        yield to_json(Send("long"))
        assert running.wait(SOON_S)
        yield to_json(Stop())
        heard.set()

    reader = in_thread(lambda: inbox.read(lines(), stop_at_end=False))
    assert inbox.next()[0] == Send("long")
    assert not inbox.cancelled()
    running.set()
    assert heard.wait(SOON_S)
    assert inbox.cancelled()
    reader.join(SOON_S)
    assert not reader.is_alive()
    assert take(inbox, 1) == [Close()]


def test_a_signal_handler_may_stop_while_its_own_thread_holds_the_lock() -> None:
    inbox = Inbox()
    inbox.put(Send("a"))

    def interrupted() -> None:
        with inbox._lock:
            inbox.put(Stop())
            inbox.put(Close())

    thread = in_thread(interrupted)
    thread.join(SOON_S)
    assert not thread.is_alive(), "deadlock"
    assert take(inbox, 2) == [Send("a"), Close()]


# ── close and the end of the input ──


def test_close_cancels_what_runs_and_what_waits() -> None:
    inbox = Inbox()
    read(inbox, Send("a"), Send("b"))
    inbox.next()
    inbox.put(Close())
    assert inbox.cancelled()
    assert take(inbox, 1) == [Send("b")]
    assert inbox.cancelled()


def test_the_end_of_the_input_lets_everything_finish() -> None:
    inbox = Inbox()
    read(inbox, Send("a"), Send("b"))
    for expected in (Send("a"), Send("b"), Close()):
        assert take(inbox, 1) == [expected]
        assert not inbox.cancelled()
    assert inbox.is_empty()


def test_the_end_of_the_input_stops_everything_if_asked_to() -> None:
    inbox = Inbox()
    inbox.put(Send("running"))
    inbox.next()
    read(inbox, Send("a"), stop_at_end=True)
    assert inbox.cancelled()
    assert take(inbox, 2) == [Send("a"), Close()]


@pytest.mark.parametrize("stop_at_end", [False, True])
def test_an_input_that_breaks_is_an_input_that_ends(stop_at_end: bool) -> None:
    def broken() -> Iterator[str]:
        yield to_json(Send("a"))
        raise OSError("gone")

    inbox = Inbox()
    with pytest.raises(OSError, match="gone"):
        inbox.read(broken(), stop_at_end=stop_at_end)
    assert take(inbox, 2) == [Send("a"), Close()]
    assert inbox.cancelled() is stop_at_end


def test_next_waits_for_a_command() -> None:
    inbox = Inbox()
    got: list[object] = []
    taker = in_thread(lambda: got.append(inbox.next()[0]))
    inbox.put(Send("a"))
    taker.join(SOON_S)
    assert got == [Send("a")]


# ── lines ──


def test_a_bad_line_is_an_error_in_its_place() -> None:
    inbox = Inbox()
    read(inbox, Send("a"), '{"type": "sned"}', "garbage", "[" * 100_000, Send("b"))
    first, *errors, last, end = take(inbox, 6)
    assert (first, last, end) == (Send("a"), Send("b"), Close())
    assert all(isinstance(error, UsageError) for error in errors)
    assert "sned" in str(errors[0])


def test_empty_lines_are_nothing() -> None:
    inbox = Inbox()
    read(inbox, "", "  ", "\t\r", Stats(), "")
    assert take(inbox, 2) == [Stats(), Close()]


def test_the_time_of_arrival_is_kept_in_order() -> None:
    inbox = Inbox()
    for text in "abc":
        inbox.put(Send(text))
    times = [inbox.next()[1] for _ in range(3)]
    assert times == sorted(times)


def test_commands_from_many_threads_all_arrive_in_each_ones_order() -> None:
    inbox = Inbox()
    n_threads, n_each = 4, 200

    def talk(name: int) -> None:
        for number in range(n_each):
            inbox.put(Send(f"{name} {number}"))
            inbox.put(Stop())

    threads = [in_thread(functools.partial(talk, name)) for name in range(n_threads)]
    for thread in threads:
        thread.join(SOON_S)
    texts = [command.text for command in take(inbox, n_threads * n_each) if isinstance(command, Send)]
    assert inbox.is_empty()
    for name in range(n_threads):
        own = [text for text in texts if text.startswith(f"{name} ")]
        assert own == [f"{name} {number}" for number in range(n_each)]
