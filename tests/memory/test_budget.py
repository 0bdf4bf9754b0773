"""What a budget means in bytes, on machines of every kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.errors import ConfigError
from chatkv.memory.budget import budget_bytes

GIB = 1 << 30
PLENTY = 1 << 60


def budget(spec: str, *, device: str = "cpu", free: int = 8 * GIB, context: int = PLENTY) -> int:
    return budget_bytes(spec, device=device, free_bytes=free, context_bytes=context)


@pytest.mark.parametrize(
    ("spec", "nbytes"),
    [
        ("512 MiB", 512 << 20),
        ("512MiB", 512 << 20),
        ("  1.5 gib ", 3 << 29),
        ("1 GB", 10**9),
        ("1.5kB", 1500),
        ("2 KiB", 2048),
        ("1000", 1000),
        ("1000 B", 1000),
        ("0.5 GiB", GIB // 2),
        ("25%", 2 * GIB),
        ("100 %", 8 * GIB),
        ("12.5%", GIB),
    ],
)
def test_sizes_and_shares(spec: str, nbytes: int) -> None:
    assert budget(spec) == nbytes


@pytest.mark.parametrize(
    ("device", "share"),
    [("cpu", 0.25), ("mps", 0.5), ("cuda", 0.75), ("cuda:0", 0.75), ("cuda:1", 0.75)],
)
@pytest.mark.parametrize("spec", ["auto", "AUTO", " auto "])
def test_auto_depends_on_the_device(device: str, share: float, spec: str) -> None:
    assert budget(spec, device=device) == share * 8 * GIB


@pytest.mark.parametrize("spec", ["auto", "50%", "4 GiB", "9" * 400, "9" * 400 + " GiB"])
def test_never_more_than_the_context_needs(spec: str) -> None:
    assert budget(spec, context=1000) == 1000


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "much",
        "-1",
        "-1 GiB",
        "0",
        "0 MiB",
        "0.4",
        "0%",
        "101%",
        "-5%",
        "%",
        "512 MiBs",
        "512 TiB",
        "1e3",
        "nan",
        "inf",
        "1,5 GiB",
        "5 % of it",
        "MiB",
        "1 2",
        "9" * 400 + "%",
        "1\nGiB GiB",
    ],
)
def test_anything_else_names_the_key_and_what_to_write(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"memory\.budget") as caught:
        budget(spec)
    assert "512 MiB" in caught.value.hint


@given(st.integers(0, 1 << 50), st.integers(1, 100), st.integers(0, 1 << 50))
def test_a_share_is_never_more_than_what_is_free(free: int, percent: int, context: int) -> None:
    nbytes = budget(f"{percent}%", free=free, context=context)
    assert isinstance(nbytes, int)
    assert nbytes == min(free * percent // 100, context) or abs(nbytes - free * percent / 100) <= 1


@given(st.integers(1, 1 << 50))
def test_a_plain_number_is_bytes(n: int) -> None:
    assert budget(str(n)) == budget(f"{n}b") == n
