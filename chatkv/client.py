"""Starts the worker process and talks to it: commands out, events in, and word of its death.

Knows the protocol and nothing of models, screens or what the commands mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chatkv.errors import WorkerError
from chatkv.paths import private_folder
from chatkv.protocol import Close, Command, Event, Ready, event_from_json, to_json

_READ_BYTES = 1 << 16
_LOG_TAIL_BYTES = 4096
_LEAVE_S = 0.12
_SAVE_S = 1.5
"""How long a process that hears commands may take to write down what it holds; mostly it takes a twentieth."""
_TERMINATE_S = 0.05


@dataclass(frozen=True, slots=True)
class Death:
    """The process ended without being asked to. `returncode` is negative for a signal, as in `subprocess`."""

    returncode: int
    last_words: str
    """Last line it wrote to stderr; empty if it wrote none."""

    @property
    def reason(self) -> str:
        """One short clause for a notice."""
        cause = f"exit code {self.returncode}"
        if self.returncode < 0:
            with contextlib.suppress(ValueError):
                cause = signal.Signals(-self.returncode).name
        return f"{cause}: {self.last_words}" if self.last_words else cause


class WorkerClient:
    """One worker process at a time. All methods belong to the event loop that called `start`.

    The child runs in a session of its own, so that Ctrl-C in the terminal never reaches it; it leaves when its
    stdin ends, and `close` makes sure.
    """

    def __init__(self, argv: Sequence[str], *, log_file: Path, env: Mapping[str, str] | None = None) -> None:
        self._argv = tuple(argv)
        self._log_file = log_file
        self._env = dict(env) if env is not None else None
        self._process: asyncio.subprocess.Process | None = None
        self._log_start = 0
        self._closing = self._hears = False

    @property
    def running(self) -> bool:
        """Whether a process was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the process. Raises `WorkerError` where the system cannot."""
        assert not self.running, "one worker at a time"
        self._closing = self._hears = False
        try:
            private_folder(self._log_file.parent)
            with self._log_file.open("ab") as log:
                self._log_start = log.tell()
                self._process = await asyncio.create_subprocess_exec(
                    *self._argv,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                    env=self._env,
                    start_new_session=True,
                )
        except OSError as error:
            raise WorkerError(
                f"Cannot start the model process: {error}.", "Is chatkv installed whole?"
            ) from error

    async def send(self, command: Command) -> None:
        """Write one command. Raises `WorkerError` when nobody is there to read it."""
        process = self._process
        if process is None or process.stdin is None or process.returncode is not None:
            raise WorkerError("The model process is not running.", "Try again once it has been restarted.")
        try:
            process.stdin.write(to_json(command).encode() + b"\n")
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise WorkerError(
                "The model process went away.", "Try again once it has been restarted."
            ) from error

    async def events(self) -> AsyncIterator[Event | Death]:
        """Events until the process ends; then, unless `close` was called, one `Death` as the last item.

        Lines of any length pass; lines that are no event of this version are skipped.
        """
        process = self._process
        assert process is not None, "start() comes first"
        assert process.stdout is not None
        pending: list[bytes] = []
        while chunk := await process.stdout.read(_READ_BYTES):
            head, *rest = chunk.split(b"\n")
            pending.append(head)
            for part in rest:
                event = event_from_json(b"".join(pending).decode(errors="replace"))
                pending.clear()
                pending.append(part)
                self._hears = self._hears or isinstance(event, Ready)
                if event is not None:
                    yield event
        returncode = await process.wait()
        if not self._closing:
            yield Death(returncode, self._last_words())

    async def restart(self) -> None:
        """End the process, whatever its state, and start a new one."""
        await self.close()
        await self.start()

    async def close(self) -> None:
        """Ask it to leave, wait while it saves (0.2 s if it is still loading), then make it. Nothing is left behind."""
        self._closing = True
        process = self._process
        if process is None:
            return
        with contextlib.suppress(WorkerError):
            async with asyncio.timeout(_LEAVE_S):
                await self.send(Close())
        if process.stdin is not None:
            process.stdin.close()
        if not await _ended(process, _SAVE_S if self._hears else _LEAVE_S):
            _signal_group(process.pid, signal.SIGTERM)
            if not await _ended(process, _TERMINATE_S):
                _signal_group(process.pid, signal.SIGKILL)
                await process.wait()
        self._process = None

    def _last_words(self) -> str:
        with self._log_file.open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, log.tell() - _LOG_TAIL_BYTES))
            lines = log.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


async def _ended(process: asyncio.subprocess.Process, within_s: float) -> bool:
    try:
        await asyncio.wait_for(process.wait(), within_s)
    except TimeoutError:
        return False
    return True


def _signal_group(pid: int, number: signal.Signals) -> None:
    """Signal the process and what it started; it leads a session, hence a process group, of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)
