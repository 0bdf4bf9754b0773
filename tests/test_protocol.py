"""Commands and events survive the way through a line of JSON; what is not a command is told what is wrong."""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv import protocol
from chatkv.errors import UsageError
from chatkv.protocol import (
    Command,
    Delta,
    Event,
    Kv,
    KvSegment,
    PrefixBreak,
    Send,
    Set,
    Stop,
    Turn,
    command_from_json,
    event_from_json,
    to_json,
    type_name,
)

COMMANDS: tuple[type, ...] = typing.get_args(Command)
EVENTS: tuple[type, ...] = typing.get_args(Event)
TURN = Turn(1, 2, 3, "stop", 10, 5, 0, 7, 0, 0.5, None, 100, 200, 300, 22)

text = st.text(st.characters(), max_size=30) | st.sampled_from(
    ["\x00", "\n", "\r\n\u2028\x85", "\ud800", "a\udc80b", '"\\', "\x1b[31m", "<|im_end|>", "漢字🙂"]
)


def values(hint: Any) -> st.SearchStrategy[Any]:
    simple = {str: text, int: st.integers(), bool: st.booleans(), type(None): st.none()}
    if hint in simple:
        return simple[hint]
    if hint is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if typing.get_origin(hint) is Literal:
        return st.sampled_from(typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return st.lists(items(typing.get_args(hint)[0]), max_size=4).map(tuple)
    return st.one_of([values(option) for option in typing.get_args(hint)])


def items(kind: Any) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{name: values(hint) for name, hint in typing.get_type_hints(kind).items()})


def as_unicode(value: Any) -> Any:
    """Two surrogates in a row that form a character are that character: JSON cannot tell them apart."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if isinstance(value, list | tuple):
        return type(value)(as_unicode(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: as_unicode(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return type(value)(**fields)
    return value


def assert_is_one_ascii_line(line: str) -> None:
    assert line.splitlines() == [line]
    assert line.isascii()


# ── round trips ──


@pytest.mark.parametrize("kind", COMMANDS, ids=type_name)
@settings(max_examples=40)
@given(data=st.data())
def test_commands_survive(kind: type, data: st.DataObject) -> None:
    command = data.draw(items(kind))
    line = to_json(command)
    assert_is_one_ascii_line(line)
    back = command_from_json(line)
    assert back == as_unicode(command)
    assert type(back) is kind
    assert_same_types(back, command)


@pytest.mark.parametrize("kind", EVENTS, ids=type_name)
@settings(max_examples=40)
@given(data=st.data())
def test_events_survive(kind: type, data: st.DataObject) -> None:
    event = data.draw(items(kind))
    line = to_json(event)
    assert_is_one_ascii_line(line)
    back = event_from_json(line)
    assert back == as_unicode(event)
    assert type(back) is kind
    hash(back)


def assert_same_types(back: Any, sent: Any) -> None:
    """`1 == True == 1.0`, so equality alone proves too little."""
    for field in dataclasses.fields(sent):
        assert type(getattr(back, field.name)) is type(getattr(sent, field.name))


def test_names_are_snake_case_and_unique() -> None:
    assert type_name(PrefixBreak) == "prefix_break"
    assert type_name(Kv) == "kv"
    names = [type_name(kind) for kind in (*COMMANDS, *EVENTS)]
    assert len(set(names)) == len(names)
    assert json.loads(to_json(Stop())) == {"type": "stop"}


def test_the_room_exports_every_command_and_event() -> None:
    for kind in (*COMMANDS, *EVENTS, KvSegment):
        assert getattr(protocol, kind.__name__) is kind
        assert kind.__name__ in protocol.__all__
        assert kind.__doc__
        assert not kind.__doc__.startswith(kind.__name__ + "("), "a docstring of its own"


def test_a_turn_carries_the_documented_fields() -> None:
    documented = (
        "turn, reused, prefilled, prefilled_early, decoded, recalled, ttft_s, tpot_s, finish, "
        "kv_used_bytes, kv_reserved_bytes, kv_budget_bytes, kv_tokens"
    )
    assert set(documented.split(", ")) <= json.loads(to_json(TURN)).keys()


# ── commands with mistakes ──


@pytest.mark.parametrize(
    ("line", "says", "hint"),
    [
        ("", "Not a JSON object", '{"type": "send"'),
        ("hello", "Not a JSON object", '{"type": "send"'),
        ('{"type": "send", "text": "a', "Not a JSON object", ""),
        ("[" * 100_000, "Not a JSON object", ""),
        ("9" * 5_000, "Not a JSON object", ""),
        ("[]", "with a `type`", "open"),
        ("3", "with a `type`", "send"),
        ("null", "with a `type`", "send"),
        ("{}", "with a `type`", "send"),
        ('{"type": 3}', "with a `type`", "send"),
        ('{"type": ["send"]}', "with a `type`", "send"),
        ('{"type": "sned", "text": "x"}', "Unknown command `sned`", "Did you mean `send`?"),
        ('{"type": "Send", "text": "x"}', "Unknown command `Send`", "Did you mean `send`?"),
        ('{"type": "qqq"}', "Unknown command `qqq`", "Types: open, new, send"),
        ('{"type": "turn"}', "Unknown command `turn`", ""),
        ('{"type": "send", "txt": "x"}', "`send` has no field `txt`", "Did you mean `text`?"),
        ('{"type": "send", "zzz": 1, "text": "x"}', "no field `zzz`", "Fields: text, max_new_tokens"),
        ('{"type": "stop", "now": true}', "`stop` has no field `now`", "Fields: none."),
        ('{"type": "send"}', "`send` needs `text`", ""),
        ('{"type": "edit"}', "`edit` needs `message_id`, `text`", ""),
        ('{"type": "send", "text": 3}', "`send.text` cannot be 3", "It must be a string."),
        ('{"type": "send", "text": null}', "`send.text` cannot be null", "It must be a string."),
        ('{"type": "send", "text": ["a"]}', "`send.text` cannot be", "It must be a string."),
        ('{"type": "fork", "message_id": "7"}', "`fork.message_id` cannot be", "a whole number"),
        ('{"type": "fork", "message_id": 7.0}', "cannot be 7.0", "a whole number"),
        ('{"type": "fork", "message_id": true}', "cannot be true", "a whole number"),
        ('{"type": "send", "text": "x", "max_new_tokens": false}', "cannot be false", "whole number or null"),
        ('{"type": "set", "key": "a", "value": null}', "cannot be null", "or true or false"),
        ('{"type": "set", "key": "a", "value": {}}', "cannot be {}", "a string or"),
    ],
    ids=lambda text: text[:40],
)
def test_a_mistake_in_a_command_is_named(line: str, says: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        command_from_json(line)
    assert says in caught.value.message
    assert hint in caught.value.hint
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("field", ["type", "text", "q"])
def test_a_huge_mistake_makes_a_short_message(field: str) -> None:
    line = json.dumps({"type": "fork", "message_id": 1} | {field: "x" * 1_000_000})
    with pytest.raises(UsageError) as caught:
        command_from_json(line)
    assert len(str(caught.value)) < 300


@given(st.recursive(st.none() | st.booleans() | st.integers() | text, st.lists) | st.dictionaries(text, text))
def test_any_json_is_a_command_or_a_usage_error(value: Any) -> None:
    line = json.dumps({"type": "send", "text": value})
    if isinstance(value, str):
        assert command_from_json(line) == Send(as_unicode(value))
    else:
        with pytest.raises(UsageError):
            command_from_json(line)
    if not (isinstance(value, dict) and value.get("type") in {type_name(kind) for kind in COMMANDS}):
        with pytest.raises(UsageError):
            command_from_json(json.dumps(value))


@pytest.mark.parametrize("value", ["a", 1, 1.5, True])
def test_set_takes_every_plain_value_as_it_is(value: str | int | float | bool) -> None:
    command = command_from_json(json.dumps({"type": "set", "key": "k", "value": value}))
    assert isinstance(command, Set)
    assert command.value == value
    assert type(command.value) is type(value)


def test_fields_with_defaults_may_be_left_out() -> None:
    assert command_from_json('{"type": "send", "text": "hi"}') == Send("hi")
    assert command_from_json(' {"text": "hi", "type": "send", "max_new_tokens": 3}\n') == Send("hi", 3)


# ── events from other versions ──


def test_events_ignore_fields_they_do_not_know() -> None:
    later = {**json.loads(to_json(Delta(1, "x"))), "colour": "red"}
    assert event_from_json(json.dumps(later)) == Delta(1, "x")
    segment = {"kind": "user", "turn": 1, "tokens": 3, "tier": "E1", "colour": "red"}
    kv = {**json.loads(to_json(Kv(3, 1, 2, 3, 4))), "segments": [segment]}
    assert event_from_json(json.dumps(kv)) == Kv(3, 1, 2, 3, 4, (KvSegment("user", 1, 3, "E1"),))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Downloading shards: 100%",
        "[]",
        '["type"]',
        "3",
        "null",
        "{}",
        '{"type": 3}',
        '{"type": []}',
        '{"type": "later"}',
        '{"type": "send", "text": "x"}',
        '{"type": "delta", "text": "x"}',
        '{"type": "delta", "mess',
        "[" * 100_000,
    ],
    ids=lambda text: text[:30],
)
def test_what_is_no_event_of_this_version_is_none(line: str) -> None:
    assert event_from_json(line) is None
