"""Random conversations: what a person may do, one step after another."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from talk import Talk, countdown

from chatkv.errors import ContextFullError, UsageError

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
        st.tuples(st.just("answer again"), st.integers(0, 9), LIMITS, STOPS),
        st.tuples(st.just("extend"), LIMITS, STOPS),
        st.tuples(st.just("edit"), st.integers(0, 9), TEXTS, STOPS),
        st.tuples(st.just("fork"), st.integers(0, 9)),
        st.tuples(st.just("resume"), st.booleans()),
        st.tuples(st.just("idle"), st.sampled_from([1, 2, 1000])),
    ),
    min_size=2,
    max_size=9,
)
MEMORY_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), TEXTS, LIMITS, STOPS),
        st.tuples(st.just("say"), st.sampled_from(["the boats of 1,450? ", "a fact: x "]), LIMITS, STOPS),
        st.tuples(
            st.just("say"), st.sampled_from(["word " * 30, "boats and towers " * 9]), LIMITS, st.none()
        ),
        st.tuples(st.just("pin"), st.integers(0, 9), st.booleans()),
        st.tuples(st.just("compact"), STOPS),
        st.tuples(st.just("break off"), st.integers(0, 40)),
        st.tuples(st.just("rewrite"), st.sampled_from(["mine", "", "The owner is Zoë.\nx"])),
        st.tuples(st.just("undo")),
        st.tuples(st.just("budget"), st.sampled_from(["100 KiB", "160 KiB", "200 KiB", "1 MiB"])),
        st.tuples(st.just("policy"), st.sampled_from(["summary", "window", "sinks", "attended"])),
        st.tuples(st.just("keep"), st.sampled_from(["boats " * 40, "One. Two. 1,450."])),
        st.tuples(st.just("regenerate"), LIMITS, STOPS),
        st.tuples(st.just("answer again"), st.integers(0, 9), LIMITS, STOPS),
        st.tuples(st.just("extend"), LIMITS, STOPS),
        st.tuples(st.just("edit"), st.integers(0, 9), TEXTS, STOPS),
        st.tuples(st.just("fork"), st.integers(0, 9)),
        st.tuples(st.just("resume"), st.booleans()),
        st.tuples(st.just("idle"), st.sampled_from([1, 5, 20, 1000])),
    ),
    min_size=4,
    max_size=14,
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
        case "answer again", index, limit, stop if asked:
            talk.regenerate(limit, stop, asked[index % len(asked)].id)
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


def remember(talk: Talk, act: str, *details: Any) -> None:
    """One step of memory, or any other; what is refused with a message has changed nothing."""
    memory, upkeep = talk.session.memory, talk.session.upkeep
    turns = [round.turn for round in talk.session.context.rounds]
    try:
        match act, *details:
            case "pin", index, pinned if turns:
                talk.do(memory.pin(turns[index % len(turns)], pinned=pinned))
            case "compact", stop:
                talk.do(upkeep.compact("", countdown(stop)))
            case "break off", n_events:
                work = upkeep.compact("", countdown(None))
                for _ in zip(range(n_events), work, strict=False):
                    talk.check_lengths()
                work.close()
            case "rewrite", text:
                talk.do(memory.rewrite(text))
            case "undo", *_:
                talk.do(memory.undo())
            case "budget" | "policy" as key, value:
                talk.set(f"memory.{key}", value)
            case "keep", text:
                talk.do(talk.session.keep(text, ""))
            case _:
                carry_out(talk, act, *details)
    except (UsageError, ContextFullError):
        talk.check_lengths()
