"""The table of commands: what typed text means, and that help, README and table list the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from textual.widgets import Label

from chatkv.errors import UsageError
from chatkv.protocol import Compact, Keep, Pin, Recall, Set, Unpin
from chatkv.tui.screens.help import HelpScreen
from chatkv.tui.writing.slash import COMMANDS, POLICIES, Act, Wish, as_typed, matching, message_of, read
from tui.driving import make_app, ready, send, until

README = Path(__file__).parents[2] / "README.md"
NAMES = tuple(command.name for command in COMMANDS)

MEANT: list[tuple[str, Wish | str]] = [
    ("/compact", Compact()),
    ("/compact keep the\nnames", Compact("keep the\nnames")),
    ("/Compact", Compact()),
    ("/summary", Act("summary")),
    ("/pin", Pin(7)),
    ("/pin 3", Pin(3)),
    ("/unpin", Unpin(7)),
    ("/unpin  12 ", Unpin(12)),
    ("/recall where is the boat", Recall("where is the boat")),
    ("/budget 512 MiB", Set("memory.budget", "512 MiB")),
    *((f"/policy {name}", Set("memory.policy", name)) for name in POLICIES),
    ("/new", Act("new")),
    ("/new --carry", Act("new with the summary")),
    ("/model", Act("model")),
    ("/model  org/name ", Act("model", "org/name")),
    ("/help", Act("help")),
    ("/set sampling.temperature  0.7 ", Set("sampling.temperature", "0.7")),
    ("/settings", Act("settings")),
    ("/theme", Act("theme")),
    ("/theme nord", Act("theme", "nord")),
    ("/edit", Act("edit")),
    ("/retry", Act("retry")),
    ("/continue", Act("continue")),
    ("/stop", Act("stop")),
    ("/copy", Act("copy")),
    ("/find", Act("find")),
    ("/find the boat", Act("find", "the boat")),
    ("/sessions", Act("sessions")),
    ("/rename A better title", Act("rename", "A better title")),
    ("/export", Act("export")),
    ("/export a.json", Act("export", "a.json")),
    ("/quit", Act("quit")),
    ("//help", "/help"),
    ("//text", "/text"),
    ("///help", "//help"),
    ("hello", "hello"),
    (" /help", " /help"),
    ("/", "/"),
    ("/usr/bin is a folder", "/usr/bin is a folder"),
    ("/etc is one too", "/etc is one too"),
    ("/usr/bin", "/usr/bin"),
    ("/text\n/more", "/text\n/more"),
    ("// a comment\nint main();", "// a comment\nint main();"),
    ("/* a comment */", "/* a comment */"),
]


@pytest.mark.parametrize(("text", "wish"), MEANT)
def test_a_text_means_this(text: str, wish: Wish | str) -> None:
    assert read(text, 7) == wish


def test_every_command_of_the_table_is_tried() -> None:
    tried = {text.split()[0].lower().removeprefix("/") for text, wish in MEANT if not isinstance(wish, str)}
    assert tried | {"keep"} == set(NAMES)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("/sumary", "There is no command /sumary"),
        ("/pin three", "'three'"),
        ("/pin 0", "'0'"),
        ("/pin ²", "'²'"),
        ("/recall ", "words"),
        ("/budget", "512MiB"),
        ("/policy best", "attended"),
        ("/new --cary", "--carry"),
        ("/help me", "nothing behind"),
        ("/edit me", "nothing behind"),
        ("/rename ", "title"),
        ("/set sampling.seed", "sampling.temperature 0.7"),
        ("/keep", "path"),
        ("/keep /no/such/file", "/no/such/file"),
        ("/keep /", "cannot be read"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(text: str, named: str) -> None:
    with pytest.raises(UsageError, match=named.replace("(", r"\(")):
        read(text, 7)


def test_there_is_no_last_turn_in_an_empty_session() -> None:
    with pytest.raises(UsageError, match="no turn"):
        read("/pin", 0)


def test_a_file_is_kept_whole_and_what_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "my notes.txt"
    file.write_bytes("é\r\nb".encode())
    assert read(f"/keep {file}", 0) == Keep("é\r\nb", "my notes.txt")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        read(f"/keep {file}", 0)
    file.write_text(" \n")
    with pytest.raises(UsageError, match="empty"):
        read(f"/keep {file}", 0)
    os.truncate(file, (64 << 20) + 1)
    with pytest.raises(UsageError, match="64 MiB"):
        read(f"/keep {file}", 0)


@given(st.lists(st.sampled_from(["/", "a", " ", "\n", "help", "pin"]), max_size=6).map("".join))
@example("///pin 3")
@example("//help")
@example("/help\n\nand more")
def test_every_message_can_be_sent_as_it_is(message: str) -> None:
    assert read(as_typed(message), 1) == message


@given(st.sampled_from(NAMES), st.integers(1, 8))
def test_what_is_typed_may_become_the_commands_that_begin_so(name: str, n_typed: int) -> None:
    typed = f"/{name[:n_typed]}"
    assert {command.name for command in matching(typed)} == {n for n in NAMES if n.startswith(typed[1:])}


def test_where_arguments_have_begun_one_command_is_left() -> None:
    assert [command.name for command in matching("/pin 3")] == ["pin"]
    assert matching("/etc is") == matching("hello") == matching("/pin\nx") == ()


@given(st.lists(st.sampled_from(["/", "a", " ", "\n", "help", "pin 1"]), max_size=6).map("".join))
def test_a_command_is_no_message_and_all_else_is(text: str) -> None:
    try:
        wish = read(text, 1)
    except UsageError:
        wish = Act("help")
    assert message_of(text) == (wish if isinstance(wish, str) else None)


async def test_help_lists_every_command(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(110, 32)) as pilot:
        await ready(pilot)
        await send(pilot, "/help")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        listed = [str(label.render()) for label in pilot.app.screen.query(Label)]
        for command in COMMANDS:
            assert listed[listed.index(command.usage) + 1] == command.meaning


def test_the_readme_lists_every_command() -> None:
    text = README.read_text(encoding="utf-8")
    assert [command.usage for command in COMMANDS if f"`{command.usage}`" not in text] == []
