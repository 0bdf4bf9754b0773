"""The composer in the running app: what is typed, pasted, attached and completed is exact; counts are shown."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from chatkv.store import Store
from chatkv.tui.widgets.writing.completions import Completions
from tui.driving import (
    composer,
    database_of,
    idle,
    make_app,
    prompts,
    ready,
    release,
    say,
    sees,
    send,
    shown,
    streaming,
    until,
)
from tui.fake_lines import FREE_TOKENS, ROOM_TOKENS
from tui.writing_key_checks import with_editor

SIZE = (110, 32)


def paste(pilot: Pilot[None], text: str) -> None:
    composer(pilot).post_message(events.Paste(text))


def subtitle(pilot: Pilot[None]) -> str:
    return str(composer(pilot).border_subtitle)


async def test_a_paste_of_a_megabyte_is_exact_and_keys_are_not_slowed(tmp_path: Path) -> None:
    text = "0123456789abcdefé\t\u2028👩‍💻" * 40_000 + "line\n" * 20_000
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press(*"ab", "left")
        started = time.perf_counter()
        paste(pilot, text)
        await until(pilot, lambda: "⟦paste 1 · 20,001 lines" in composer(pilot).text)
        await pilot.press("c")
        assert time.perf_counter() - started < 10, "far above what it takes; a machine may be busy"
        await until(pilot, lambda: "tokens⟧" in composer(pilot).text)
        assert composer(pilot).message == f"a{text}cb"
        await pilot.press("d")
        assert composer(pilot).message == f"a{text}cdb"
        await pilot.press("backspace", "backspace", "backspace")
        assert composer(pilot).message == "ab"
        await pilot.press(*["ctrl+z"] * 3)
        assert composer(pilot).message.startswith(f"a{text}")


async def test_a_label_is_deleted_and_stepped_over_as_one(tmp_path: Path) -> None:
    text = "x\n" * 200
    async with make_app(tmp_path, "--hold").run_test(size=SIZE) as pilot:
        paste(pilot, text)
        await until(pilot, lambda: "⟦" in composer(pilot).text)
        await pilot.press("b", "left", "left", "a")
        assert composer(pilot).message == f"a{text}b"
        await pilot.press("right", "left", "delete")
        assert composer(pilot).message == "ab"
        await pilot.press("ctrl+z")
        assert composer(pilot).message == f"a{text}b"
        composer(pilot).move_cursor((0, 5))
        await pilot.press("c")
        assert composer(pilot).message == f"a{text}cb"


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("日", "本", "語", "backspace", "学"), "日本学"),
        (("a", "\t", "b"), "a\tb"),
        (("ש", "ל", "ו", "left", "x"), "שלxו"),
        (("e", "\u0301", "!"), "e\u0301!"),
        ((*tuple("👩\u200d💻"), "home", "a"), "a👩\u200d💻"),
    ],
)
async def test_what_is_typed_is_what_is_sent(tmp_path: Path, keys: tuple[str, ...], text: str) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        for key in keys:
            if len(key) > 1:
                await pilot.press(key)
            else:
                pilot.app.post_message(events.Paste(key) if key == "\t" else events.Key(key, key))
        await until(pilot, lambda: composer(pilot).message == text)
        await pilot.press("enter")
        await idle(pilot)
        with Store.open(database_of(pilot), read_only=True) as store:
            assert store.asked(1)[0].text == text


async def test_the_count_follows_what_is_written(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        for text, counted in (
            ("hello you", f"2 tokens · {FREE_TOKENS:,} free"),
            ("hello", f"1 token · {FREE_TOKENS:,} free"),
            ("a " * 7_000, "7,000 tokens · old turns will be summarized first"),
            ("a " * (ROOM_TOKENS + 12), "8,012 tokens · too long by 12"),
            ("/compact all of it", ""),
            ("//help", f"1 token · {FREE_TOKENS:,} free"),
        ):
            composer(pilot).put(text)
            await until(pilot, lambda counted=counted: subtitle(pilot) == counted)  # type: ignore[misc]
            assert composer(pilot).has_class("-too-long") is ("too long" in counted)
        composer(pilot).put("")
        await until(pilot, lambda: subtitle(pilot) == "")
        await send(pilot, "slow one")
        await streaming(pilot)
        await pilot.press(*"and on")
        await until(pilot, lambda: subtitle(pilot).startswith("2 tokens"))
        release(pilot)
        await idle(pilot)


async def test_an_edited_message_is_counted_too(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await say(pilot, "one two three")
        await pilot.press("f3")
        await until(pilot, lambda: subtitle(pilot) == "3 tokens")


async def test_before_the_model_answers_the_size_is_shown(tmp_path: Path) -> None:
    async with make_app(tmp_path, "--hold").run_test(size=SIZE) as pilot:
        composer(pilot).put("line\n" * 80)
        await until(pilot, lambda: subtitle(pilot) == "81 lines · 400 B")


async def test_a_file_is_completed_attached_and_sent_exactly(tmp_path: Path, here: Path) -> None:
    (here / "folder").mkdir()
    (here / "folder" / "my notes.txt").write_text("a\r\n```\nb", newline="")
    whole = "my notes.txt:\n\n````\na\r\n```\nb\n````\n"
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press(*"see @f")
        await sees(pilot, "folder/")
        await pilot.press("tab")
        assert composer(pilot).text == "see @folder/"
        await sees(pilot, "my notes.txt")
        await pilot.press("tab")
        assert composer(pilot).text.startswith("see ⟦my notes.txt · ")
        assert composer(pilot).message == f"see {whole}"
        composer(pilot).put('see @"folder/my notes.txt", @nobody and me@folder')
        await pilot.press("enter")
        await idle(pilot)
        assert prompts(pilot) == [f"see {whole}, @nobody and me@folder"]


async def test_a_file_that_is_no_text_is_refused_and_the_message_kept(tmp_path: Path, here: Path) -> None:
    (here / "picture.png").write_bytes(b"\x89PNG\xff")
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await send(pilot, "look @picture.png")
        await sees(pilot, "is not UTF-8 text")
        assert composer(pilot).message == "look @picture.png"
        assert prompts(pilot) == []
        await pilot.press("home", "end", "tab")
        assert composer(pilot).message == "look @picture.png"


async def test_there_is_nothing_below_the_last_line(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        for key in ("ctrl+k", "ctrl+x", "ctrl+shift+k"):
            await pilot.press(key, "a")
            assert composer(pilot).message == "a", key
            await pilot.press("backspace")


async def test_completions_are_chosen_by_arrows(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("slash", "s")
        await sees(pilot, "/summary", "/settings")
        await pilot.press("down", "down", "up", "down", "tab")
        assert composer(pilot).message == "/set "
        await sees(pilot, "/set setting value")
        composer(pilot).put("")
        await pilot.press("slash", "p", "down", "enter")
        assert composer(pilot).message == "/pin "
        composer(pilot).put("")
        await pilot.press("slash", *"he", "down", "enter")
        assert composer(pilot).message == "/he", "there is only one: nothing to choose"
        await pilot.press("tab", "space")
        composer(pilot).put("")
        await until(pilot, lambda: not pilot.app.screen.query_one(Completions).display)


async def test_enter_carries_a_chosen_command_out(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        await say(pilot, "hello")
        await pilot.press("slash", "c", "down", "down", "down", "enter")
        await until(pilot, lambda: pilot.app.clipboard == "You said: hello")
        assert composer(pilot).message == ""


async def test_the_history_goes_on_into_other_sessions(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=SIZE) as pilot:
        await ready(pilot)
        for text in ("first\nof all", "//help"):
            await say(pilot, text)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: not prompts(pilot))
        await say(pilot, "here")
        await pilot.press(*"mine", "up")
        assert composer(pilot).message == "here"
        await pilot.press("up")
        await until(pilot, lambda: composer(pilot).message == "//help")
        await pilot.press("up")
        assert composer(pilot).message == "first\nof all"
        await pilot.press("up")
        assert composer(pilot).cursor_location[0] == 0, "within several lines, the cursor moves first"
        await pilot.press("down", "down", "down", "down")
        assert composer(pilot).message == "mine"


async def test_the_editor_gives_back_what_was_pasted_and_says_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "x\n" * 200
    async with make_app(tmp_path).run_test(size=SIZE, notifications=True) as pilot:
        await ready(pilot)
        paste(pilot, long)
        await until(pilot, lambda: "⟦" in composer(pilot).text)
        with_editor(monkeypatch, tmp_path, "file.write_text('see ' + file.read_text() + 'there')")
        await pilot.press("f2")
        assert composer(pilot).message == f"see {long}there"
        assert "⟦paste 1" in composer(pilot).text
        with_editor(monkeypatch, tmp_path, "sys.exit(7)")
        await pilot.press("f2")
        await sees(pilot, "exit code 7")
        assert composer(pilot).message == f"see {long}there"
        assert "exit code" in shown(pilot)
