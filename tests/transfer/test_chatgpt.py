"""ChatGPT's export: its trees, its kinds of content, and everything that is odd about real ones."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from chatkv.store import Whole
from chatkv.transfer.findings import Findings
from chatkv.transfer.identity import branch_in_use
from chatkv.transfer.reading import read_file
from transfer.foreign import Node, boats, conversation, node, text, written


def read(tmp_path: Path, data: Any) -> tuple[list[Whole], Findings]:
    found, findings = read_file(written(tmp_path / "conversations.json", data), None, 99.0)
    return [one.whole for one in found], findings


def said(whole: Whole) -> list[tuple[str, str]]:
    return [(row["role"], row["text"]) for row in branch_in_use(whole)]


def test_the_branch_in_use_reads_as_it_was_said(tmp_path: Path) -> None:
    (whole,), findings = read(tmp_path, [boats()])
    assert (findings.faults, findings.notes) == ([], [])
    assert said(whole) == [
        ("user", "How many boats?"),
        ("assistant", "Nine."),
        ("user", "Count them."),
        ("assistant", "```python\nlen(boats)\n```\n\n```\n9\n```\n\nThere are nine."),
    ]
    assert branch_in_use(whole)[-1]["thought"] == "Counting\nOne by one.\n\nThought for 5s"
    session = whole.session
    assert (session["title"], session["system"], session["model"]) == ("Boats", "I sail.\n\nBe brief.", "o3")
    assert (session["created_at"], session["updated_at"]) == (1_700_000_000.25, 1_700_000_900.75)
    assert [row["model"] for row in branch_in_use(whole)] == ["o3", "gpt-4o", "o3", "o3"]
    assert {row["created_at"] for row in whole.messages} == {1_700_000_000.5}


def test_every_branch_is_there_and_numbered_along_itself(tmp_path: Path) -> None:
    (whole,), _ = read(tmp_path, [boats()])
    rows = {row["text"]: row for row in whole.messages}
    assert rows["Eight."]["parent_id"] == rows["Nine."]["parent_id"] == rows["How many boats?"]["id"]
    assert rows["How many ships?"]["parent_id"] is None
    assert [row["turn"] for row in branch_in_use(whole)] == [1, 1, 2, 2]
    assert rows["Two."]["turn"] == 1
    assert all(row["parent_id"] is None or row["parent_id"] < row["id"] for row in whole.messages)
    assert [row["id"] for row in whole.messages] == list(range(1, 8))


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (text("one", "two"), "one\ntwo"),
        (text("one", None, ""), "one"),
        (text(), None),
        (None, None),
        ("plain", "plain"),
        (
            {"content_type": "multimodal_text", "parts": ["look", {"content_type": "image_asset_pointer"}]},
            "look",
        ),
        (
            {
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "audio_transcription", "text": "spoken", "direction": "in"},
                    {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
                ],
            },
            "spoken",
        ),
        ({"content_type": "code", "language": "unknown", "text": "a `` b ``` c"}, "````\na `` b ``` c\n````"),
        ({"content_type": "execution_output", "text": "9\n"}, "```\n9\n```"),
        ({"content_type": "tether_quote", "url": "u", "title": "t", "text": "q", "domain": "d"}, "t\nu\nq"),
        ({"content_type": "tether_browsing_display", "result": "r", "summary": None}, "r"),
        ({"content_type": "system_error", "name": "E", "text": "boom"}, "E\nboom"),
        ({"content_type": "kind of tomorrow", "text": "words"}, "words"),
        ({"content_type": "kind of tomorrow", "blob": 1}, None),
        ({"parts": ["no type"]}, "no type"),
    ],
)
def test_text_of_every_kind_is_taken(content: Any, shown: str | None, tmp_path: Path) -> None:
    nodes = [node("q", None, "user", text("?")), node("a", "q", "assistant", content)]
    (whole,), findings = read(tmp_path, [conversation(nodes)])
    assert said(whole) == [("user", "?"), *([("assistant", shown)] if shown is not None else [])]
    assert findings.faults == []


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    picture = {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "see"]}
    nodes = [
        node("q", None, "user", picture, attachments=[{"name": "a.pdf"}, {"name": "b.pdf"}]),
        node("h", "q", "tool", text("huge page"), is_visually_hidden_from_conversation=True),
        node("k", "h", "assistant", {"content_type": "kind of tomorrow", "blob": 1}),
        node("s", "k", "system", text("Mind the gap.")),
        node("a", "s", "assistant", text("ok")),
    ]
    (whole,), findings = read(tmp_path, [conversation(nodes)])
    assert said(whole) == [("user", "see\n\nMind the gap."), ("assistant", "ok")]
    assert {note.what.split(" left out")[0]: note.n for note in findings.notes} == {
        "attachments": 3,
        "hidden messages": 1,
        "messages of the unknown kind 'kind of tomorrow'": 1,
        "system messages in the middle, kept as messages of the user": 1,
    }


def test_messages_in_a_row_become_one_and_lose_no_branch(tmp_path: Path) -> None:
    nodes = [
        node("q", None, "user", text("first")),
        node("q2", "q", "user", text("second")),
        node("a", "q", "assistant", text("to the first")),
        node("a2", "q2", "assistant", text("to both")),
    ]
    (whole,), _ = read(tmp_path, [conversation(nodes, "a2")])
    assert said(whole) == [("user", "first\n\nsecond"), ("assistant", "to both")]
    assert {row["text"] for row in whole.messages} == {"first", "first\n\nsecond", "to the first", "to both"}


def broken() -> list[tuple[str, Any, str, list[str]]]:
    def q() -> Node:
        return node("q", None, "user", text("Q"))

    a = node("a", "q", "assistant", text("A"))
    lost = node("a", "nowhere", "assistant", text("A"))
    ring = [node("q", "a", "user", text("Q")), node("a", "q", "assistant", text("A"))]
    odd = node("a", "q", "assistant", text(5))
    return [
        ("no such parent", conversation([q(), lost]), "[0].mapping.a.parent", ["A"]),
        ("a ring", conversation(ring, "a"), ".parent", ["Q", "A"]),
        ("no such leaf", conversation([q(), a], "gone"), "[0].current_node", ["Q", "A"]),
        ("a message that is none", conversation([q(), {**a, "message": 7}]), "[0].mapping.a.message", ["Q"]),
        (
            "an entry that is none",
            {**conversation([q()]), "mapping": {"q": q(), "x": []}},
            "[0].mapping.x",
            ["Q"],
        ),
        ("a part that is none", conversation([q(), odd]), "[0].mapping.a.message.content.parts[0]", ["Q"]),
        (
            "an unknown role",
            conversation([q(), node("a", "q", "ghost", text("A"))]),
            "a.message.author.role",
            ["Q"],
        ),
        ("nothing in it", conversation([node("r", None)]), "[0]", []),
        ("no mapping", {"title": "x", "mapping": None}, "[0].mapping", []),
    ]


@pytest.mark.parametrize(
    ("data", "place", "texts"), [row[1:] for row in broken()], ids=[row[0] for row in broken()]
)
def test_a_fault_has_a_place_and_the_rest_is_read(
    data: Any, place: str, texts: list[str], tmp_path: Path
) -> None:
    wholes, findings = read(tmp_path, [data, boats()])
    assert [fault for fault in findings.faults if place in fault.place]
    assert len(wholes) == (2 if texts else 1)
    if texts:
        assert [said_text for _, said_text in said(wholes[0])] == texts


def test_several_roots_are_branches(tmp_path: Path) -> None:
    nodes = [
        node("q", None, "user", text("Q")),
        node("p", None, "user", text("P")),
        node("b", "p", "assistant", text("B")),
    ]
    (whole,), findings = read(tmp_path, [conversation(nodes, "q")])
    assert findings.faults == []
    assert said(whole) == [("user", "Q")]
    assert [row["parent_id"] for row in whole.messages] == [None, None, 2]


@pytest.mark.parametrize(
    "names", [["conversations.json"], ["x/conversations-000.json", "x/conversations-001.json"]]
)
def test_the_zip_is_read_as_it_came(names: list[str], tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<html>")
        for n, name in enumerate(names):
            source = written(
                tmp_path / "c.json", [conversation([node("q", None, "user", text("Q"))], id=str(n)), 3]
            )
            archive.write(source, name)
    found, findings = read_file(file, None, 0.0)
    assert len(found) == len(names)
    assert [fault.place for fault in findings.faults] == [f"{name}[1]" for name in names]


def test_a_very_long_chain_and_a_very_wide_fan_are_quick(tmp_path: Path) -> None:
    chain = [
        node(str(n), str(n - 1) if n else None, "user" if n % 2 else "assistant", text("x"))
        for n in range(8_000)
    ]
    fan = [node("r", None), *(node(f"f{n}", "r", "user", text("y")) for n in range(8_000))]
    wholes, _ = read(tmp_path, [conversation(chain), conversation(fan)])
    assert [len(whole.messages) for whole in wholes] == [8_000, 8_000]
    assert len(branch_in_use(wholes[0])) == 8_000


def test_a_comb_that_would_grow_without_bound_is_refused(tmp_path: Path) -> None:
    spine = [node(str(n), str(n - 1) if n else None, "user", text("x" * 2000)) for n in range(1500)]
    teeth = [node(f"t{n}", str(n), "assistant", text("y")) for n in range(1500)]
    wholes, findings = read(tmp_path, [conversation([*spine, *teeth])])
    assert wholes == []
    assert "too many branches" in findings.faults[0].problem
