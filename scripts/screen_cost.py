"""Measures what the screen costs: the app itself in a terminal of its own, on stored sessions and a scripted worker.

Usage: `python scripts/screen_cost.py [--quick] [--only PART]`. The last line on stdout is JSON:

- `start_s`: process start until a typed key is on the screen; `open_s`: how much later the end of a stored session is.
- `cpu_ms_per_token`: CPU time of the app's process per streamed token (12 a second); `core_share`: of one core.
- `key_ms`: from a key until its character comes out of the terminal, while the answer streams: median and worst.
- `idle_share`: of one core, while nothing happens; `rss_mib`: before and after the answers.
- `long`: a fast answer of 5,000 tokens: ms per token in its first and in its last thousand.

CPU time is the kernel's own count (`schedstat`), so other work on the machine blurs it little.
"""

from __future__ import annotations

import argparse
import codecs
import fcntl
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from screen_worker import MODEL, text

from chatkv.store import Store, TurnRecord

ROWS, COLUMNS = 45, 140
RATE, FAST_RATE = 12, 120
PATIENCE_S = 120.0
END = "Xylophon"
"""Last word of every stored session: when it is on the screen, the session is open."""
_LETTERS = "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмнопрстуфхцчшщъыьэюя"
_APP = """
import sys
from pathlib import Path
from chatkv.config import Config
from chatkv.paths import Paths
from chatkv.tui.app import ChatkvApp
folder, worker, session = Path(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None
paths = Paths(folder / "config.toml", folder / "chatkv.db", folder / "models", folder / "worker.log")
argv = [sys.executable, worker, str(paths.database), str(folder / "progress"), "--model", "scripted"]
ChatkvApp(Config(model="scripted"), paths, open_session=session, worker_argv=argv).run()
"""


class Terminal:
    """The app in a pseudo-terminal. What it writes is read whenever this waits."""

    def __init__(self, folder: Path, session: str | None) -> None:
        self.began = time.monotonic()
        self._folder = folder
        (folder / "progress").write_bytes(b"0".rjust(9))
        self._pty, inner = pty.openpty()
        tty.setraw(inner)
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        worker = str(Path(__file__).with_name("screen_worker.py"))
        argv = [sys.executable, "-c", _APP, str(folder), worker, *([session] if session else [])]
        env = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self._process = subprocess.Popen(
            argv, stdin=inner, stdout=inner, stderr=inner, env=env, start_new_session=True
        )
        os.close(inner)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.seen = ""
        self.n_bytes = 0
        self._letters = iter(_LETTERS * 9)

    def read(self, seconds: float) -> None:
        """Take in what comes within so many seconds; returns with the first of it."""
        if select.select([self._pty], [], [], seconds)[0]:
            fresh = os.read(self._pty, 1 << 16)
            self.n_bytes += len(fresh)
            self.seen = (self.seen + self._decoder.decode(fresh))[-(1 << 18) :]

    def wait(self, seconds: float) -> None:
        """Let the app run."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.read(left)

    def until(self, wanted: str) -> float:
        """When `wanted` has been written to the terminal (monotonic seconds)."""
        give_up = time.monotonic() + PATIENCE_S
        while wanted not in self.seen:
            assert time.monotonic() < give_up, f"{wanted!r} never came"
            self.read(0.5)
        return time.monotonic()

    def type(self, keys: str) -> None:
        """Press keys; what was seen before is forgotten."""
        self.seen = ""
        os.write(self._pty, keys.encode())

    def key_s(self) -> float:
        """Seconds from a key to its character on the screen; it is erased again."""
        letter, began = next(self._letters), time.monotonic()
        self.type(letter)
        shown = self.until(letter) - began
        self.type("\x7f")
        return shown

    def first_key_s(self) -> float:
        """Seconds from the start until the first key is on the screen."""
        typed = ""
        while not any(letter in self.seen for letter in typed):
            os.write(self._pty, (letter := next(self._letters)).encode())
            typed += letter
            self.read(0.02)
        took = time.monotonic() - self.began
        self.wait(0.3)
        self.type("\x7f" * len(typed))
        return took

    def n_tokens(self) -> int:
        """How many tokens the worker has sent."""
        return int((self._folder / "progress").read_bytes() or b"0")

    def until_token(self, n_tokens: int) -> None:
        """Let the app run until so many were sent."""
        while self.n_tokens() < n_tokens:
            self.wait(0.03)

    def cpu_s(self) -> float:
        """CPU time of all threads of the app so far."""
        tasks = Path(f"/proc/{self._process.pid}/task")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9

    def rss_mib(self) -> float:
        """Memory of the app's process."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)

    def close(self) -> None:
        """Quit."""
        os.write(self._pty, b"\x11")
        give_up = time.monotonic() + 5
        while self._process.poll() is None and time.monotonic() < give_up:
            try:
                self.wait(0.05)
            except OSError:
                break
        self._process.terminate()
        self._process.wait()
        os.close(self._pty)


@contextmanager
def app(folder: Path, session: str | None = None) -> Iterator[Terminal]:
    """The app, quit at the end."""
    terminal = Terminal(folder, session)
    try:
        yield terminal
    finally:
        terminal.close()


def store(folder: Path, n_turns: int) -> Path:
    """A folder with one session of so many finished turns."""
    folder = folder / str(n_turns)
    folder.mkdir(parents=True, exist_ok=True)
    with Store.open(folder / "chatkv.db") as opened:
        session, leaf = opened.create_session(MODEL, f"of {n_turns} turns", spec=MODEL).id, None
        for turn in range(1, n_turns + 1):
            answer = text(90 + turn % 60) + (f"\n\n{END}" if turn == n_turns else "")
            user, reply = opened.add_exchange(session, leaf, f"How does part {turn} go?", turn, MODEL)
            opened.update_answer(reply.id, text=answer, thought="", ids=(), answer_start=0, status="complete")
            costs = (100 * turn, 12, 0, 90, 0, 0.2, 0.08, 8.0, 1 << 20, 2 << 20, 1 << 32, 110 * turn)
            opened.add_turn(TurnRecord(session, turn, user.id, reply.id, "stop", *costs, MODEL, 0.0))
            leaf = reply.id
    return folder


def narrate(words: str) -> None:
    """Say how far it is."""
    print(words, file=sys.stderr, flush=True)


def started(folder: Path, repeats: int) -> dict[str, Any]:
    """Start, and open at the start."""
    bare, opened = [], []
    for _ in range(repeats):
        with app(folder) as terminal:
            bare.append(terminal.first_key_s())
        with app(folder, "last") as terminal:
            opened.append(terminal.until(END) - terminal.began)
    start, whole = min(bare), min(opened)
    return {"start_s": round(start, 2), "open_s": round(max(0.0, whole - start), 2)}


def streamed(folder: Path, n_tokens: int) -> dict[str, Any]:
    """One answer at the usual rate: its cost first, then keys while it goes on."""
    n_keys = 20
    with app(folder, "last") as terminal:
        terminal.until(END)
        terminal.wait(4.0)
        began, cpu = time.monotonic(), terminal.cpu_s()
        terminal.wait(4.0)
        idle = (terminal.cpu_s() - cpu) / (time.monotonic() - began)
        rss = [terminal.rss_mib()]
        terminal.type(f"go {n_tokens + RATE * 12} {RATE}\r")
        terminal.until_token(RATE * 3)
        began, cpu, first, written = time.monotonic(), terminal.cpu_s(), terminal.n_tokens(), terminal.n_bytes
        terminal.until_token(RATE * 3 + n_tokens)
        spent, took = terminal.cpu_s() - cpu, time.monotonic() - began
        n_seen = terminal.n_tokens() - first
        written = terminal.n_bytes - written
        keys = []
        for n in range(n_keys):
            terminal.wait(0.15 + 0.013 * n)
            keys.append(terminal.key_s() * 1000)
        rss.append(terminal.rss_mib())
    return {
        "cpu_ms_per_token": round(spent * 1000 / n_seen, 2),
        "core_share": round(spent / took, 3),
        "idle_share": round(idle, 4),
        "bytes_per_token": round(written / n_seen),
        "key_ms": [round(statistics.median(keys), 1), round(max(keys), 1)],
        "rss_mib": rss,
    }


def long_answer(folder: Path, n_tokens: int) -> dict[str, Any]:
    """A long, fast answer: what its first and its last fifth cost."""
    part, marks = n_tokens // 5, []
    with app(folder, "last") as terminal:
        terminal.until(END)
        terminal.wait(2.0)
        terminal.type(f"go {n_tokens + 50} {FAST_RATE}\r")
        rss = []
        for at in (40, part, n_tokens - part, n_tokens):
            terminal.until_token(at)
            marks.append((terminal.cpu_s(), terminal.n_tokens()))
            rss.append(terminal.rss_mib())
    costs = [(end[0] - start[0]) * 1000 / (end[1] - start[1]) for start, end in (marks[:2], marks[2:])]
    return {"first_ms": round(costs[0], 2), "last_ms": round(costs[1], 2), "rss_mib": rss}


def main() -> None:
    """All parts, one after another."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of it, for a first look")
    parser.add_argument("--only", choices=("start", "stream", "long"))
    parser.add_argument("--folder", type=Path, help="keep the stored sessions here")
    options = parser.parse_args()
    n_tokens, repeats = (120, 1) if options.quick else (360, 3)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        sizes = (3, 300) if options.only == "stream" else (3, 300, 2000) if options.only != "long" else (3,)
        folders = {n: folder / str(n) if (folder / str(n)).exists() else store(folder, n) for n in sizes}
        for n, place in folders.items():
            figures[str(n)] = {}
            if options.only in (None, "start"):
                figures[str(n)] |= started(place, repeats)
            if options.only in (None, "stream") and n <= 300:
                figures[str(n)] |= streamed(place, n_tokens)
            narrate(f"{n} turns: {figures[str(n)]}")
        if options.only in (None, "long"):
            figures["long"] = long_answer(folders[3], 1000 if options.quick else 5000)
            narrate(f"a long answer: {figures['long']}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
