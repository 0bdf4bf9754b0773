"""Random conversations: what a person may do, one step after another."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from talk import Talk

TEXTS = st.one_of(
    st.sampled_from(
        ["ok", "the", "\n\nthen?", " a 1,450 ", "<|im_end|>", "naïve 日本 🦊", "what in the world", "x" * 90]
    ),
    st.text(min_size=1, max_size=24).filter(lambda text: bool(text.strip())),
)
STOPS = st.one_of(st.none(), st.none(), st.integers(0, 14))
LIMITS = st.integers(1, 10)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), TEXTS, LIMITS, STOPS),
        st.tuples(st.just("say"), TEXTS, LIMITS, STOPS),
        st.tuples(st.just("regenerate"), LIMITS, STOPS),
        st.tuples(st.just("extend"), LIMITS, STOPS),
        st.tuples(st.just("edit"), st.integers(0, 9), TEXTS, STOPS),
        st.tuples(st.just("fork"), st.integers(0, 9)),
        st.tuples(st.just("resume"), st.booleans()),
        st.tuples(st.just("idle"), st.sampled_from([1, 2, 1000])),
    ),
    min_size=2,
    max_size=9,
)


def carry_out(talk: Talk, act: str, *details: Any) -> None:
    """One step, if it makes sense where the conversation stands."""
    path = talk.path
    asked = [message for message in path if message.role == "user"]
    answered = [message for message in path if message.role == "assistant"]
    match act, *details:
        case "say", text, limit, stop:
            talk.say(text, limit, stop)
        case "regenerate", limit, stop if asked:
            talk.regenerate(limit, stop)
        case "extend", limit, stop if answered and path[-1].status in ("length", "stopped"):
            talk.extend(limit, stop)
        case "edit", index, text, stop if asked:
            talk.edit(asked[index % len(asked)].id, text, 5, stop)
        case "fork", index if answered:
            talk.fork(answered[index % len(answered)].id)
        case "resume", fresh:
            talk.resume(fresh_engine=fresh)
        case "idle", n_steps:
            talk.idle(n_steps)
