"""Fake workers that start at once: forked from one process that has imported what they need.

The app starts a process of its own, as ever: a small one, which hands its ends to a server here, and ends as the fork
does. What becomes of either becomes of both.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from pathlib import Path

_TESTS = str(Path(__file__).parents[1])
_CLIENT = """
import _socket, os, struct, sys
line = _socket.socket(_socket.AF_UNIX)
line.connect("\\0" + sys.argv[1])
ends = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("3i", 0, 1, 2))
line.sendmsg(["\\0".join(sys.argv[2:]).encode()], [ends])
os.close(0)
os.close(1)
code = int(line.recv(16) or b"1")
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""
_SERVER = "import sys; sys.path.insert(0, {!r}); from tui.fake_forks import serve; serve({})"
_PROGRAM = f"import sys; sys.path.insert(0, {_TESTS!r}); from tui.fake_main import main; main()"


def fake_worker(*flags: str) -> list[str]:
    """The command that is a fake worker with these flags."""
    if sys.platform != "linux":
        return [sys.executable, "-c", _PROGRAM, *flags]
    return [sys.executable, "-I", "-S", "-c", _CLIENT, _server(), *flags]


@functools.cache
def _server() -> str:
    """Start the server; the name of its socket. It ends with this process, whose end of its input it has."""
    name = f"chatkv-tests-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as inlet:
        inlet.bind("\0" + name)
        inlet.listen(64)
        command = [sys.executable, "-c", _SERVER.format(_TESTS, inlet.fileno())]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[inlet.fileno()])
    atexit.register(server.communicate)
    return name


def serve(number: int) -> None:
    """Fork a worker for each that calls, until the input ends."""
    import tui.fake_main  # noqa: F401 - once, for all of them

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=number) as inlet:
        while 0 not in select.select([number, 0], [], [])[0]:
            line, _ = inlet.accept()
            with line:
                if os.fork() == 0:
                    inlet.close()
                    _attend(line)
                    os._exit(0)


def _attend(line: socket.socket) -> None:
    """Fork the worker, and see to it that it and who called end together."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    flags, ends, _, _ = socket.recv_fds(line, 1 << 16, 3)
    if (pid := os.fork()) == 0:
        line.close()
        for number, end in enumerate(ends):
            os.dup2(end, number)
            os.close(end)
        os._exit(_live(flags.decode().split("\0")))
    for end in (0, 1, *ends):
        os.close(end)
    process = os.pidfd_open(pid)
    if process not in select.select([process, line.fileno()], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(OSError):  # it is gone
        line.sendall(str(code).encode())


def _live(flags: list[str]) -> int:
    from tui.fake_main import main

    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = ["fake", *flags]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0
