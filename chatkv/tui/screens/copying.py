"""Copies what was said, exactly as it is stored: a question, an answer, a piece of code."""

from __future__ import annotations

from textual import on
from textual.screen import Screen

from chatkv.tui import units
from chatkv.tui.behind.desk import Desk
from chatkv.tui.messages import CopyWanted
from chatkv.tui.talk.exchange import Exchange


class Copying(Screen[None]):
    """The part of the main screen that puts things on the clipboard, through the terminal (OSC 52)."""

    _desk: Desk
    _copied: tuple[int, int] = (0, 0)
    """Key of the turn whose code was copied last, and the number of that piece, from 1."""

    def action_copy_answer(self) -> None:
        """Copy the marked turn's answer, else the last one."""
        self._copy("the answer", self._desk.conversation.last_answer)

    def action_copy_question(self) -> None:
        """Copy the marked turn's question, else the last one."""
        turn = self._desk.conversation.branches.turn
        self._copy("the question", turn.prompt if turn is not None else "")

    def action_copy_code(self, number: int = 0) -> None:
        """Copy the piece of code with this number, from 1; 0 = the one after that which was copied last."""
        turn = self._desk.conversation.branches.turn
        if turn is None:
            return
        blocks = _blocks(turn)
        before = self._copied[1] if self._copied[0] == turn.key else 0
        self._copy_block(turn.key, blocks, number or before % max(1, len(blocks)) + 1)

    @on(CopyWanted)
    def _on_copy(self, message: CopyWanted) -> None:
        turn = self._desk.conversation.board.get(message.key)
        if turn is None:
            return
        match message.what:
            case "question":
                self._copy("the question", turn.prompt)
            case "answer":
                self._copy("the answer", turn.answer)
            case "code":
                from chatkv.tui.prose.fences import matching_block

                blocks = _blocks(turn)
                found = matching_block(blocks, message.number, message.begins)
                self._copy_block(turn.key, blocks, 1 + found if found is not None else 0)

    def _copy_block(self, key: int, blocks: list[str], number: int) -> None:
        if not blocks:
            self.notify("There is no code in this answer.", timeout=2)
        elif not 0 < number <= len(blocks):
            self.notify(f"This answer has {units.plural(len(blocks), 'piece')} of code.", timeout=2)
        else:
            self._copied = key, number
            self._copy(f"code {number} of {len(blocks)}", blocks[number - 1])

    def _copy(self, what: str, text: str) -> None:
        if not text:
            self.notify(f"There is nothing to copy: {what} is empty.", timeout=2)
            return
        self.app.copy_to_clipboard(text)
        amount = f"{units.plural(text.count(chr(10)) + 1, 'line')}, {units.plural(len(text), 'character')}"
        self.notify(f"Copied {what}: {amount}.", timeout=2)


def _blocks(turn: Exchange) -> list[str]:
    """Code of an answer. Markdown is not needed for the first paint: imported when it is asked for."""
    from chatkv.tui.prose.fences import code_blocks

    return code_blocks(turn.answer)
