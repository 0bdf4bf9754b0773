"""The worker's inbox: drafts and counts lie aside, never in line, and wake whoever waits."""

from __future__ import annotations

import pytest
from inboxes import SOON_S, in_thread, read, take

from chatkv.protocol import Close, Count, Draft, Send, Stop
from chatkv.worker import Inbox


def test_of_drafts_only_the_newest_counts_and_none_waits_in_line() -> None:
    inbox = Inbox()
    read(
        inbox, Draft("a"), Send("x"), Draft("ab"), Count("k", "1"), Draft(""), Count("k", "2"), Count("l", "")
    )
    assert inbox.asides() == [Count("k", "2"), Count("l", ""), Draft("")]
    assert inbox.asides() == []
    assert take(inbox, 2) == [Send("x"), Close()]
    assert inbox.is_empty()


def test_a_draft_is_nothing_to_stop() -> None:
    inbox = Inbox()
    inbox.put(Draft("a"))
    inbox.put(Stop())
    inbox.put(Send("a"))
    inbox.next()
    assert not inbox.cancelled()


@pytest.mark.parametrize("aside", [Draft("a"), Count("k", "a")])
def test_whoever_waits_is_woken_by_what_lies_aside(aside: Draft | Count) -> None:
    inbox = Inbox()
    waiter = in_thread(lambda: inbox.wait(None))
    inbox.put(aside)
    waiter.join(SOON_S)
    assert not waiter.is_alive()
    assert inbox.is_empty()
    assert inbox.asides() == [aside]


def test_what_lay_aside_wakes_nobody_for_nothing() -> None:
    inbox = Inbox()
    for text in "abc":
        inbox.put(Draft(text))
    inbox.asides()
    inbox.put(Send("x"))
    while inbox._held is None:
        inbox.wait(None)
    assert take(inbox, 1) == [Send("x")]
    assert inbox.is_empty()
