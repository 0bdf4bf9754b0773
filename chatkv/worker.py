"""The process that owns the model: commands in as JSON lines, events out as JSON lines, until the input ends.

A reader thread takes commands as they come, so that `stop` reaches a running answer, and `draft` and `count` are
answered beside it; all else waits in line.
"""

from __future__ import annotations

import contextlib
import gc
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING

from chatkv.config import Config
from chatkv.errors import ChatkvError, ContextFullError
from chatkv.paths import Paths
from chatkv.protocol import (
    Close,
    Closed,
    Command,
    Count,
    Draft,
    Edit,
    Error,
    Event,
    Send,
    Stop,
    command_from_json,
    to_json,
    type_name,
)

if TYPE_CHECKING:
    from chatkv.host import Host


Emit = Callable[[Event], None]
Item = tuple[Command | ChatkvError, float]


class Inbox:
    """Commands in order of arrival, with the time they came in. Safe from threads and signal handlers."""

    def __init__(self) -> None:
        # None is no command: it wakes whoever waits, for what lies aside.
        self._queue: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        # Reentrant: a signal handler may run `put` in the thread that is inside `next` with the lock held.
        self._lock = threading.RLock()
        self._n_arrived = self._n_taken = 0
        self._running = self._stopped = 0
        self._held: Item | None = None
        self._counts: dict[str, Count] = {}
        self._draft: Draft | None = None
        self.closing = False

    def read(self, lines: Iterable[str], *, stop_at_end: bool) -> None:
        """Take commands from `lines`. Their end is a `close`: when all is done, or (`stop_at_end`) at once.

        A line that is no command takes its place in the order as the error it is.
        """
        try:
            for line in lines:
                if line.strip():
                    self._read_line(line)
        finally:
            if stop_at_end:
                self.put(Close())
            else:
                self._line_up(Close())

    def put(self, command: Command) -> None:
        """Line up `command`. `Stop` acts at once, on what runs or else runs next; `Close` stops all.

        A `Draft` or `Count` is laid aside, in place of an older one.
        """
        if isinstance(command, Draft | Count):
            self._lay_aside(command)
            return
        if isinstance(command, Stop):
            with self._lock:
                if self._running or self._n_arrived > self._n_taken:
                    self._stopped = self._running or self._n_taken + 1
            return
        if isinstance(command, Close):
            self.closing = True
        self._line_up(command)

    def is_empty(self) -> bool:
        """Whether nothing waits in line."""
        with self._lock:
            return self._n_arrived == self._n_taken

    def wait(self, seconds: float | None) -> None:
        """Wait until something is there, in line or aside, at most so long; None: however long it takes."""
        if self._held is None and not self._has_aside():
            with contextlib.suppress(queue.Empty):
                self._held = self._queue.get(timeout=seconds)

    def asides(self) -> list[Draft | Count]:
        """What was laid aside since this was last asked."""
        if not self._has_aside():
            return []
        with self._lock:
            laid: list[Draft | Count] = [*self._counts.values(), *filter(None, [self._draft])]
            self._counts, self._draft = {}, None
        return laid

    def next(self) -> Item:
        """Wait for the next one, which runs from now on; the one before it is done."""
        self.finish()
        item, self._held = self._held, None
        while item is None:
            item = self._queue.get()
        with self._lock:
            self._running = self._n_taken + 1  # first, so that a signal in between stops this one
            self._n_taken += 1
        return item

    def finish(self) -> None:
        """What ran is done. From now on a `Stop` is for what waits, even while idle work goes on."""
        with self._lock:
            self._running = 0

    def cancelled(self) -> bool:
        """Whether the running command should end."""
        return self.closing or self._stopped == self._running > 0

    def _read_line(self, line: str) -> None:
        try:
            self.put(command_from_json(line))
        except ChatkvError as error:
            self._line_up(error)

    def _lay_aside(self, aside: Draft | Count) -> None:
        with self._lock:
            if isinstance(aside, Draft):
                self._draft = aside
            else:
                self._counts[aside.key] = aside
        self._queue.put(None)

    def _has_aside(self) -> bool:
        return self._draft is not None or bool(self._counts)

    def _line_up(self, item: Command | ChatkvError) -> None:
        with self._lock:
            self._n_arrived += 1
        self._queue.put((item, time.perf_counter()))


def serve(config: Config, paths: Paths, source: IO[str], sink: IO[str], *, stop_at_end: bool = False) -> int:
    """Run until `source` ends or `close` comes; return the exit code. Each event is a flushed line on `sink`.

    `stop_at_end`: the end of the input stops a running answer (its reader is gone) instead of letting it end.
    """

    def emit(event: Event) -> None:
        sink.write(to_json(event) + "\n")
        sink.flush()

    inbox = Inbox()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # there is no SIGHUP on Windows
            signal.signal(getattr(signal, name), lambda *_: inbox.put(Close()))
    signal.signal(signal.SIGINT, lambda *_: inbox.put(Stop()))
    reader = threading.Thread(
        target=inbox.read, args=(source,), kwargs={"stop_at_end": stop_at_end}, daemon=True
    )
    reader.start()
    try:
        return _run(config, paths, inbox, emit)
    except BrokenPipeError:
        return 0


def _run(config: Config, paths: Paths, inbox: Inbox, emit: Emit) -> int:
    from chatkv.host import Host

    try:
        host = Host(config, paths, emit)
        host.load()
        gc.collect()
        gc.freeze()  # the model's objects live as long as the process: no collection need look at them again
    except ChatkvError as error:
        emit(Error(error.message, error.hint, "load"))
        emit(Closed())
        return error.exit_code
    try:
        while True:
            _use_idle_time(host, inbox)
            command, received_at = inbox.next()
            if isinstance(command, Close):
                break
            _carry_out(host, command, inbox, received_at, emit)
            if inbox.closing:
                host.custody.keep_unanswered()
            inbox.finish()
    finally:
        host.close()
    emit(Closed())
    return 0


def _use_idle_time(host: Host, inbox: Inbox) -> None:
    """Work ahead until something is asked, and wake up for what is to be done later."""
    while inbox.is_empty():
        _attend(host, inbox)
        if host.has_idle_work:
            host.idle_step()
        else:
            inbox.wait(host.wakes_in_s())
        host.mend()
    _attend(host, inbox)


def _attend(host: Host, inbox: Inbox) -> None:
    """Answer what does not wait in line."""
    for aside in inbox.asides():
        host.attend(aside)


def _carry_out(
    host: Host, command: Command | ChatkvError, inbox: Inbox, received_at: float, emit: Emit
) -> None:
    def cancelled() -> bool:
        _attend(host, inbox)
        return inbox.cancelled()

    name = "" if isinstance(command, ChatkvError) else type_name(type(command))
    text = command.text if isinstance(command, Send | Edit) else ""
    try:
        if isinstance(command, ChatkvError):
            raise command
        host.handle(command, cancelled, received_at)
    except ChatkvError as error:
        choices = error.choices if isinstance(error, ContextFullError) else ()
        emit(Error(error.message, error.hint, name, text, choices))
    except BrokenPipeError:
        raise
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        emit(Error(f"chatkv failed: {type(error).__name__}: {error}", "The log has the details.", name, text))


def private_stdout() -> IO[str]:
    """The process's stdout for protocol lines alone; whatever libraries print goes to stderr from now on."""
    sink = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    return sink
