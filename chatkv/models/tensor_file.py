"""The safetensors file format: its header, whether a file is whole, and writing bfloat16 without torch.

Format: 8 bytes little-endian header length, JSON header, tensor bytes
(https://github.com/huggingface/safetensors#format). Knows nothing of models.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from chatkv.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy

_MAX_HEADER_NBYTES = 100_000_000
_LFS_POINTER = b"version https://git-lfs"


def read_header(path: Path) -> dict[str, Any]:
    """The entries of the file's header by tensor name.

    Raises `ModelError` if the file is truncated, a Git LFS pointer, unreadable or no safetensors file.
    """
    try:
        with path.open("rb") as file:
            prefix = file.read(8)
            length = int.from_bytes(prefix, "little")
            if _LFS_POINTER.startswith(prefix) and len(prefix) == 8:
                raise ModelError(
                    f"`{path}` is a Git LFS pointer, not the weights.", "Run `git lfs pull` in its folder."
                )
            text = file.read(length) if length <= _MAX_HEADER_NBYTES else b""
        nbytes = path.stat().st_size
    except OSError as error:
        raise ModelError(f"`{path}` cannot be read: {error.strerror or error}.") from error
    if len(prefix) < 8 or (length <= _MAX_HEADER_NBYTES and len(text) < length):
        raise _truncated(path, nbytes)
    header = _parse(path, text)
    expected = 8 + length + _data_nbytes(path, header)
    if nbytes < expected:
        raise _truncated(path, nbytes, expected)
    return header


def write_bfloat16(
    path: Path,
    shapes: Mapping[str, tuple[int, ...]],
    tensor: Callable[[str], numpy.ndarray[Any, Any]],
    on_written: Callable[[int], None],
) -> None:
    """Write tensors of `shapes` as bfloat16, one at a time, in order; `tensor(name)` gives float32 values.

    `on_written(n)` hears how many tensors are in the file. Rounds to nearest, ties to even, as torch does.
    """
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, shape in shapes.items():
        end = offset + 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for count, (name, shape) in enumerate(shapes.items(), start=1):
            values = tensor(name)
            assert values.shape == shape, (name, values.shape, shape)
            file.write(_bfloat16_bytes(values))
            on_written(count)


def _bfloat16_bytes(values: numpy.ndarray[Any, Any]) -> bytes:
    import numpy as np

    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return rounded.astype("<u2").tobytes()


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except ValueError as error:
        raise _foreign(path) from error
    if not isinstance(header, dict):
        raise _foreign(path)
    header.pop("__metadata__", None)
    return header


def _data_nbytes(path: Path, header: Mapping[str, Any]) -> int:
    try:
        return max((int(entry["data_offsets"][1]) for entry in header.values()), default=0)
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise _foreign(path) from error


def _foreign(path: Path) -> ModelError:
    return ModelError(f"`{path}` is not a safetensors file, or is damaged.", "Fetch it again.")


def _truncated(path: Path, nbytes: int, expected: int | None = None) -> ModelError:
    whole = f" of {expected:,}" if expected else ""
    return ModelError(
        f"`{path}` is not whole: it has {nbytes:,}{whole} bytes.",
        "The download was cut short: fetch it again.",
    )
