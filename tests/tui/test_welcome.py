"""The first words: a welcome at the very first start, and never again; a tip for each new session after that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from chatkv.tui.behind.room import Room
from chatkv.tui.screens import welcome as words
from chatkv.tui.settings.keymap import Keymap, bindings
from chatkv.tui.talk.exchange import Exchange
from tui.driving import composer, make_app, places, ready, say, sees, settled, shown, states
from tui.picturing import Compare, picture

ROOM = Room(12 << 30, "memory", slow=True)
GPU = Room(24 << 30, "GPU memory")


async def test_the_first_start_says_what_happens_and_the_first_message_ends_it(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="starter", room=ROOM).run_test(size=(140, 40)) as pilot:
        await ready(pilot)
        await sees(
            pilot, "Welcome to chatkv.", "(93 MB)", "12.0 GiB of memory", "Qwen/Qwen3-4B-Instruct-2507"
        )
        assert "Qwen3-8B" not in shown(pilot), "no pleasure on a processor"
        await pilot.press(*"hello")
        assert composer(pilot).message == "hello"
        await say(pilot, "hello")
        assert "Welcome" not in shown(pilot)
        await pilot.press("ctrl+n")
        await sees(pilot, words.QUESTION)
        assert "Welcome" not in shown(pilot)
    async with make_app(tmp_path, model="starter", room=ROOM).run_test(size=(140, 40)) as pilot:
        await sees(pilot, words.QUESTION, "Tip:")
        assert "Welcome" not in shown(pilot)


@pytest.mark.parametrize("why", ["another model", "a configuration"])
async def test_who_has_chosen_already_is_not_welcomed(why: str, tmp_path: Path) -> None:
    if why == "a configuration":
        places(tmp_path).config_file.write_text("")
    model = "starter" if why == "a configuration" else "org/other"
    async with make_app(tmp_path, model=model, room=ROOM).run_test(size=(140, 40)) as pilot:
        await ready(pilot)
        await sees(pilot, words.QUESTION)
        assert "Welcome" not in shown(pilot)


async def test_each_new_session_has_another_tip(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(140, 40)) as pilot:
        await ready(pilot)
        seen = []
        for _ in range(2):
            await say(pilot, "hello")
            await pilot.press("ctrl+n")
            await sees(pilot, "Tip: ")
            assert states(pilot) == []
            seen.append(next(line for line in shown(pilot).splitlines() if "Tip: " in line))
        assert seen[0] != seen[1]


def test_tips_name_keys_and_commands_that_exist() -> None:
    for n in range(len(words._TIPS)):
        text = str(words.greeting(Keymap({"chat.fork": "f11"}), n))
        assert "{" not in text
    assert set(re.findall(r"{([^}]+)}", "".join(words._TIPS))) <= bindings().keys()
    assert "F11 goes on from there" in str(words.greeting(Keymap({"chat.fork": "f11"}), 0))


def test_what_stays_of_an_app_below_the_prompt_is_inert() -> None:
    last = Exchange(1, "say\n\x1b[31mred", "An \x1b]0;answer\x07.")
    assert words.farewell(last) == "> say\n> ␛[31mred\n\nAn ␛]0;answer␇.\n"
    assert words.farewell(Exchange(1, "hi")) == "> hi"


@pytest.mark.parametrize(
    "size", [(140, 40), (80, 24), (40, 12), (300, 80)], ids=lambda size: "x".join(map(str, size))
)
def test_pictures(size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await settled(pilot)

    assert picture(make_app(tmp_path, model="starter", room=GPU), snap_compare, act, size)
