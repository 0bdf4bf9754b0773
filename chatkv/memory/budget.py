"""How many bytes KV may take, in memory and on disk: a size, a share of what is free, or a sensible default.

Plain arithmetic; what is free, and what the model needs, is for others to measure.
"""

from __future__ import annotations

import re

from chatkv.errors import ConfigError

_UNITS = {
    "": 1,
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
}
_AUTO_SHARE = {"cpu": 0.25, "mps": 0.5}
_CUDA_SHARE = 0.75
_DISK_SHARE = 0.1
_MOST_ON_DISK = 20 << 30


def budget_bytes(spec: str, *, device: str, free_bytes: int, context_bytes: int) -> int:
    """Bytes that `spec` means on this machine; never more than the model's whole context needs.

    `spec` is `"512 MiB"`, `"25%"` (of `free_bytes`) or `"auto"`: 75 % of what is free on CUDA, 50 % on MPS,
    25 % on the CPU. Raises `ConfigError` for anything else.
    """
    return int(min(_wanted(spec.strip(), device, free_bytes), context_bytes))


def disk_bytes(spec: str, *, free_bytes: int) -> int:
    """Bytes that KV on disk may take under `spec`: a size, a share of `free_bytes`, or `"auto"`: 10 %, at most 20 GiB.

    `free_bytes` includes what KV takes there already. `"0"` is none. Raises `ConfigError` for anything else.
    """
    if spec.strip() == "0":
        return 0
    if spec.strip().lower() == "auto":
        return int(min(free_bytes * _DISK_SHARE, _MOST_ON_DISK))
    return int(_sized("store.kv", spec.strip(), free_bytes))


def _wanted(spec: str, device: str, free_bytes: int) -> float:
    if spec.lower() == "auto":
        return free_bytes * _AUTO_SHARE.get(device.partition(":")[0], _CUDA_SHARE)
    return _sized("memory.budget", spec, free_bytes)


def _sized(key: str, spec: str, free_bytes: int) -> float:
    share = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", spec)
    if share and 0 < float(share[1]) <= 100:
        return free_bytes * float(share[1]) / 100
    size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)", spec)
    if size and size[2].lower() in _UNITS:
        nbytes = float(size[1]) * _UNITS[size[2].lower()]
        if nbytes >= 1:
            return nbytes
    raise ConfigError(f"{key} = {spec!r} is not a size.", 'Write "512 MiB", "25%" or "auto".')
