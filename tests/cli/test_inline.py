"""`chatkv --inline` on a real pseudo-terminal: below the prompt, and the last answer stays there."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from processes import Run

_PATIENCE_S = 90.0
_ALTERNATE_SCREEN = "\x1b[?1049h"


class Terminal:
    """A program on a pseudo-terminal, and all that it wrote."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self.written = ""
        self._end, other = pty.openpty()
        self.resize(100, 30)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "chatkv", *arguments],
            stdin=other,
            stdout=other,
            stderr=other,
            env={**environment, "TERM": "xterm-256color"},
            start_new_session=True,
        )
        os.close(other)

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._end, keys.encode())

    def read_until(self, text: str) -> str:
        """Read on until `text` comes; what was written since the last time."""
        since, give_up_at = len(self.written), time.monotonic() + _PATIENCE_S
        while text not in self.written[since:]:
            assert time.monotonic() < give_up_at, self.written[since:][-2000:]
            assert self._read(), f"it ended: {self.written[since:][-2000:]}"
        return self.written[since:]

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        return self.process.wait(_PATIENCE_S)

    def close(self) -> None:
        """End it, whatever its state."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._end)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._end], [], [], _PATIENCE_S)
        try:
            chunk = os.read(self._end, 1 << 16) if ready else b""
        except OSError:  # Linux's way to say that the other end is closed
            chunk = b""
        self.written += chunk.decode(errors="replace")
        return bool(chunk)


@pytest.mark.slow
def test_the_app_below_the_prompt_leaves_the_last_answer(environment: dict[str, str]) -> None:
    terminal = Terminal({**environment, "CHATKV_SAMPLING_MAX_NEW_TOKENS": "6"}, "--inline")
    try:
        terminal.read_until("Write a message")
        terminal.type("Hello there")
        terminal.read_until("there")
        terminal.type("\r")
        terminal.read_until("cut at the token limit")
        terminal.resize(70, 20)
        os.kill(terminal.process.pid, signal.SIGWINCH)
        terminal.read_until("cut at the token limit")
        terminal.type("\x03")
        terminal.read_until("again to quit")
        terminal.type("\x03")
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert _ALTERNATE_SCREEN not in terminal.written
    left = terminal.written.rpartition("> Hello there")[2]
    assert terminal.written.count("> Hello there") == 1
    assert left.strip(), "the answer"
    assert "\x1b" not in left, "plain text after the app is gone"


def test_inline_goes_with_the_app_alone(run: Run) -> None:
    done = run("--inline", "ask", "hello")
    assert (done.returncode, "--inline goes with the app alone" in done.stderr) == (2, True)


def test_keys_of_the_configuration_are_shown_and_checked(run: Run, environment: dict[str, str]) -> None:
    file = Path(environment["CHATKV_HOME"]) / "config.toml"
    file.parent.mkdir()
    file.write_text('[keys]\n"chat.stop" = "ctrl+x"\n')
    assert 'keys.chat.stop = "ctrl+x"' in run("config", "show").stdout
    listed = run("config", "keys").stdout
    assert '"chat.stop" = "ctrl+x" ' in listed
    assert '"app.help" = "f1" ' in listed
    assert run("--set", "keys.chat.stop=f11", "config", "keys").stdout.count('"chat.stop" = "f11"') == 1
    file.write_text('[keys]\n"chat.stpo" = "ctrl+x"\n')
    done = run("config", "keys")
    assert done.returncode == 2
    assert "chat.stpo" in done.stderr
    assert "Did you mean `chat.stop`?" in done.stderr
