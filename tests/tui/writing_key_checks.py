"""One check for every key of the composer that is about writing: history, completion, the person's own editor."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot

from tui.driving import composer, database_of, say, sees, until
from tui.key_checks import checks


def with_editor(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Path:
    """Make a Python script (its `file` is the path to edit) the editor, in a terminal that can be let go of."""
    program = folder / "editor with a space.py"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\nfile = Path(sys.argv[1])\n{script}\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", f"'{program}'")
    monkeypatch.setattr(HeadlessDriver, "can_suspend", True)
    monkeypatch.setattr(HeadlessDriver, "suspend_application_mode", lambda driver: None)
    monkeypatch.setattr(HeadlessDriver, "resume_application_mode", lambda driver: None)
    return program


@checks("composer.older", "composer.newer", whole=True)
async def history(pilot: Pilot[None], key: str) -> None:
    await say(pilot, "second")
    for wanted, text in (("up", "second"), ("up", "hello"), ("down", "second"), ("down", "")):
        await pilot.press(wanted)
        assert composer(pilot).message == text
    await pilot.press(*"half a line", "up", "up", "down", "down")
    assert composer(pilot).message == "half a line"


@checks("chat.editor")
async def editor(pilot: Pilot[None], key: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        with_editor(patch, database_of(pilot).parent, "file.write_bytes(file.read_bytes() + 'é'.encode())")
        await pilot.press(*"caf", key)
        await until(pilot, lambda: composer(pilot).message == "café")
        patch.setattr(HeadlessDriver, "can_suspend", False)
        await pilot.press(key)
        await sees(pilot, "cannot let go of it")
