"""Every decision that depends on the machine: device, dtype, weight format, threads, chunk, free memory.

The decisions are functions of a `Machine`, so that they can be tested for machines that are not here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped, unused-ignore]
import torch

from chatkv.errors import ConfigError

_ALLOCATION_FAILED = ("out of memory", "can't allocate memory", "not enough memory", "_alloc_failed")
"""What CUDA and MPS, the CPU allocator on Linux, the same on Windows, and cuBLAS say."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What can compute here."""

    n_cuda: int = 0
    cuda_bf16: bool = False
    mps: bool = False
    cpu_bf16: bool = False
    """The CPU multiplies bfloat16 matrices natively (AVX-512 or AMX, Arm's BF16), not by conversion."""
    physical_cores: int = 1


def this_machine() -> Machine:
    """Ask torch and the system."""
    n_cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return Machine(
        n_cuda=n_cuda,
        cuda_bf16=n_cuda > 0 and torch.cuda.is_bf16_supported(),
        mps=torch.backends.mps.is_available(),
        cpu_bf16=bool(torch.ops.mkldnn._is_mkldnn_bf16_supported()),
        physical_cores=psutil.cpu_count(logical=False) or os.cpu_count() or 1,
    )


def pick_device(wanted: str, machine: Machine) -> str:
    """`auto` → `cuda`, else `mps`, else `cpu`. Raises `ConfigError` for a device that is not here."""
    if wanted == "auto":
        return "cuda:0" if machine.n_cuda else "mps" if machine.mps else "cpu"
    if wanted == "cpu" or (wanted == "mps" and machine.mps):
        return wanted
    if wanted == "cuda" or wanted.startswith("cuda:"):
        index = wanted.removeprefix("cuda").removeprefix(":") or "0"
        if index.isdecimal() and int(index) < machine.n_cuda:
            return f"cuda:{int(index)}"
        raise ConfigError(
            f"load.device = {wanted!r}, but the number of CUDA devices torch can use is {machine.n_cuda}.",
            'Choose "auto" or "cpu", or check the driver with `chatkv doctor`.',
        )
    raise ConfigError(
        f"load.device = {wanted!r} cannot be used here.", 'Known: "auto", "cpu", "cuda", "cuda:1", "mps".'
    )


def pick_dtype(wanted: str, device: str, machine: Machine) -> torch.dtype:
    """`auto` → bfloat16, or float16 on GPUs that do not compute it. CPUs that do not: see `needs_widening`."""
    if wanted != "auto":
        dtype: torch.dtype = getattr(torch, wanted)
        return dtype
    if device.startswith("cuda"):
        return torch.bfloat16 if machine.cuda_bf16 else torch.float16
    if device == "mps":
        return torch.float16
    return torch.bfloat16


def needs_widening(device: str, dtype: torch.dtype, machine: Machine) -> bool:
    """Whether prefill should compute in float32 from bfloat16 weights: several times faster on such CPUs."""
    return device == "cpu" and dtype is torch.bfloat16 and not machine.cpu_bf16


def pick_weights(wanted: str, device: str) -> str:
    """Refuse a weight format that the device cannot hold. Raises `ConfigError`."""
    if wanted in ("int8", "nf4") and device == "mps":
        raise ConfigError(
            f"load.weights = {wanted!r} needs bitsandbytes, which does not run on MPS.", 'Choose "auto".'
        )
    return wanted


def pick_chunk(wanted: int, device: str) -> int:
    """Tokens per prefill call: enough to keep the device busy, few enough to stop within a second or so."""
    return wanted or (1024 if device.startswith("cuda") else 512 if device == "mps" else 256)


def set_threads(wanted: int, machine: Machine) -> int:
    """CPU threads for torch; hyper-threads only get in each other's way."""
    n_threads = wanted or machine.physical_cores
    torch.set_num_threads(n_threads)
    return n_threads


def free_bytes(device: str) -> int:
    """Memory that a KV cache could take on `device` now."""
    if device.startswith("cuda"):
        free, _ = torch.cuda.mem_get_info(device)
        return int(free) + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(psutil.virtual_memory().available)


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes that this process holds. `allocated` and `reserved` are the device allocator's, 0 on the CPU, where
    nobody keeps such a book; `rss` is resident memory of the process."""

    allocated: int
    reserved: int
    rss: int


def held_memory(device: str) -> Held:
    """What this process holds now."""
    rss = int(psutil.Process().memory_info().rss)
    if device.startswith("cuda"):
        return Held(torch.cuda.memory_allocated(device), torch.cuda.memory_reserved(device), rss)
    if device == "mps":
        return Held(torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory(), rss)
    return Held(0, 0, rss)


def drop_scratch(device: str) -> None:
    """Give the allocator's unused blocks back to the device."""
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    elif device == "mps":
        torch.mps.empty_cache()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` is an allocation that failed, on any device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _ALLOCATION_FAILED)
