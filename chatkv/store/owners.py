"""Names of processes, made so that a recycled pid is not taken for the old process. Knows nothing of SQL."""

from __future__ import annotations

import os

# A start time is computed from the boot time, which moves a little when the system clock is corrected.
_TOLERANCE_S = 5.0


# psutil is imported where it is used: a list of sessions should not wait for it.


def this_process() -> str:
    """Owner string of the running process: `pid:process_start_time`, the time in seconds since the epoch."""
    import psutil

    return f"{os.getpid()}:{psutil.Process().create_time():.2f}"


def pid_of(owner: str) -> int:
    """The process id in an owner string. Raises `ValueError` if it is none."""
    return int(owner.partition(":")[0])


def is_alive(owner: str) -> bool:
    """Whether the very process that `owner` names still runs; one killed but not yet collected does not."""
    import psutil

    try:
        pid, started_at = pid_of(owner), float(owner.partition(":")[2])
    except ValueError:
        return False
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - started_at) <= _TOLERANCE_S
        return same and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
