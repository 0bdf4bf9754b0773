"""Decisions for machines that are not here, and a look at the one that is."""

from __future__ import annotations

import pytest
import torch

from chatkv.engine.device import (
    Machine,
    drop_scratch,
    free_bytes,
    is_out_of_memory,
    needs_widening,
    pick_chunk,
    pick_device,
    pick_dtype,
    pick_weights,
    set_threads,
    this_machine,
)
from chatkv.errors import ConfigError

OLD_CPU = Machine()
NEW_CPU = Machine(cpu_bf16=True, physical_cores=16)
MAC = Machine(mps=True, physical_cores=8)
OLD_GPU = Machine(n_cuda=1, cpu_bf16=True)
NEW_GPUS = Machine(n_cuda=2, cuda_bf16=True)
BOTH = Machine(n_cuda=1, cuda_bf16=True, mps=True)


@pytest.mark.parametrize(
    ("wanted", "machine", "device"),
    [
        ("auto", OLD_CPU, "cpu"),
        ("auto", NEW_CPU, "cpu"),
        ("auto", MAC, "mps"),
        ("auto", OLD_GPU, "cuda:0"),
        ("auto", BOTH, "cuda:0"),
        ("cpu", NEW_GPUS, "cpu"),
        ("cpu", MAC, "cpu"),
        ("mps", MAC, "mps"),
        ("cuda", NEW_GPUS, "cuda:0"),
        ("cuda:0", NEW_GPUS, "cuda:0"),
        ("cuda:1", NEW_GPUS, "cuda:1"),
        ("cuda:01", NEW_GPUS, "cuda:1"),
    ],
)
def test_devices(wanted: str, machine: Machine, device: str) -> None:
    assert pick_device(wanted, machine) == device
    torch.device(device)


@pytest.mark.parametrize(
    ("wanted", "machine", "says"),
    [
        ("cuda", OLD_CPU, "CUDA devices torch can use is 0"),
        ("cuda", MAC, "CUDA devices torch can use is 0"),
        ("cuda:1", OLD_GPU, "CUDA devices torch can use is 1"),
        ("cuda:2", NEW_GPUS, "CUDA devices torch can use is 2"),
        ("cuda:-1", NEW_GPUS, "CUDA"),
        ("cuda:x", NEW_GPUS, "CUDA"),
        ("cuda:²", NEW_GPUS, "CUDA"),
        ("cuda:0:1", NEW_GPUS, "CUDA"),
        ("mps", NEW_GPUS, "cannot be used here"),
        ("cuda0", NEW_GPUS, "cannot be used here"),
        ("gpu", NEW_GPUS, "cannot be used here"),
        ("CPU", NEW_GPUS, "cannot be used here"),
        ("", OLD_CPU, "cannot be used here"),
    ],
)
def test_a_device_that_is_not_here_is_refused(wanted: str, machine: Machine, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        pick_device(wanted, machine)
    assert repr(wanted) in caught.value.message
    assert '"cpu"' in caught.value.hint


@pytest.mark.parametrize(
    ("device", "machine", "dtype"),
    [
        ("cpu", OLD_CPU, torch.bfloat16),
        ("cpu", NEW_CPU, torch.bfloat16),
        ("cpu", NEW_GPUS, torch.bfloat16),
        ("cpu", OLD_GPU, torch.bfloat16),
        ("mps", MAC, torch.float16),
        ("cuda:0", OLD_GPU, torch.float16),
        ("cuda:1", NEW_GPUS, torch.bfloat16),
    ],
)
def test_the_dtype_a_device_computes(device: str, machine: Machine, dtype: torch.dtype) -> None:
    assert pick_dtype("auto", device, machine) is dtype


@pytest.mark.parametrize("device", ["cpu", "mps", "cuda:0"])
@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_a_dtype_that_was_asked_for_is_taken(device: str, name: str) -> None:
    assert pick_dtype(name, device, OLD_CPU) is getattr(torch, name)


@pytest.mark.parametrize("device", ["cpu", "mps", "cuda:0"])
@pytest.mark.parametrize("weights", ["auto", "int8", "nf4"])
def test_weight_formats(device: str, weights: str) -> None:
    if device == "mps" and weights != "auto":
        with pytest.raises(ConfigError, match="bitsandbytes"):
            pick_weights(weights, device)
    else:
        assert pick_weights(weights, device) == weights


def test_only_a_cpu_without_bfloat16_widens_bfloat16() -> None:
    assert needs_widening("cpu", torch.bfloat16, OLD_CPU)
    assert not needs_widening("cpu", torch.bfloat16, NEW_CPU)
    assert not needs_widening("cpu", torch.float32, OLD_CPU)
    assert not needs_widening("cuda:0", torch.bfloat16, OLD_CPU)


def test_chunks_grow_with_the_device_and_may_be_set() -> None:
    assert (
        0 < pick_chunk(0, "cpu") < pick_chunk(0, "mps") < pick_chunk(0, "cuda:0") == pick_chunk(0, "cuda:1")
    )
    assert {pick_chunk(7, device) for device in ("cpu", "mps", "cuda:0")} == {7}


def test_threads_are_physical_cores_unless_set() -> None:
    before = torch.get_num_threads()
    try:
        assert set_threads(0, Machine(physical_cores=2)) == torch.get_num_threads() == 2
        assert set_threads(1, Machine(physical_cores=2)) == torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"), True),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate"),
            True,
        ),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes."), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
        (KeyboardInterrupt(), False),
    ],
    ids=lambda value: str(value)[:30],
)
def test_failed_allocations_are_known(error: BaseException, verdict: bool) -> None:
    assert is_out_of_memory(error) is verdict


def test_an_allocation_that_really_fails_is_known() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)


def test_this_machine_can_run_something() -> None:
    machine = this_machine()
    assert machine.physical_cores >= 1
    device = pick_device("auto", machine)
    assert torch.ones(3, dtype=pick_dtype("auto", device, machine), device=device).sum() == 3
    assert free_bytes(device) > 0
    drop_scratch(device)
    assert free_bytes("cpu") > 1 << 20


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_memory_the_allocator_holds_unused_counts_as_free() -> None:
    before = free_bytes("cuda:0")
    block = torch.empty(256 << 20, dtype=torch.uint8, device="cuda:0")
    assert before - free_bytes("cuda:0") >= 256 << 20
    del block
    assert before - free_bytes("cuda:0") < 64 << 20
    drop_scratch("cuda:0")
    assert torch.cuda.memory_reserved("cuda:0") == torch.cuda.memory_allocated("cuda:0") == 0
