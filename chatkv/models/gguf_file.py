"""Header of a GGUF file: its fields and where its tensors lie. Knows nothing of what they mean.

The `gguf` package's reader takes seconds for a large vocabulary; this one takes a fraction of one, which is
what a check at every start may cost. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatkv.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor: `shape` outermost dimension first, `kind` the number of its quantization type."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int
    """Where its data begin, in bytes from the start of the file."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A parsed header."""

    path: Path
    fields: dict[str, Any]
    tensors: tuple[GgufTensor, ...]


def read_gguf(path: Path) -> GgufFile:
    """Parse the header of `path`. Raises `ModelError` if it is unreadable, damaged, cut short or not GGUF."""
    try:
        nbytes = path.stat().st_size
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"`{path}` is not a GGUF file.", "Is it whole, and no Git LFS pointer?")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
                header = _parse(path, _Cursor(view))
    except OSError as error:
        raise ModelError(f"`{path}` cannot be read: {error.strerror or error}.") from error
    except _CutError as error:
        raise _truncated(path, nbytes) from error
    except (KeyError, UnicodeDecodeError) as error:
        raise ModelError(f"`{path}` is damaged: its header makes no sense.", "Fetch it again.") from error
    expected = max((tensor.offset + _tensor_nbytes(path, tensor) for tensor in header.tensors), default=0)
    if nbytes < expected:
        raise _truncated(path, nbytes, expected)
    return header


class _CutError(Exception):
    """The file ends before its header does."""


class _Cursor:
    """A reading position in the header."""

    def __init__(self, view: mmap.mmap) -> None:
        self._view = view
        self.position = 4

    def take(self, nbytes: int) -> bytes:
        end = self.position + nbytes
        if end > len(self._view):
            raise _CutError
        taken = self._view[self.position : end]
        self.position = end
        return taken

    def numbers(self, code: str, n: int) -> tuple[Any, ...]:
        return struct.unpack(f"<{n}{code}", self.take(n * struct.calcsize(f"<{code}")))

    def number(self, code: str) -> Any:
        return self.numbers(code, 1)[0]

    def string(self) -> str:
        return self.take(self.number("Q")).decode()

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.number(_SCALARS[kind])
        item, n = self.number("I"), self.number("Q")
        if item == _STRING:
            return [self.string() for _ in range(n)]
        return list(self.numbers(_SCALARS[item], n))


def _parse(path: Path, cursor: _Cursor) -> GgufFile:
    version = cursor.number("I")
    if version not in (2, 3):
        raise ModelError(
            f"`{path}` is GGUF version {version}; versions 2 and 3 are read.", "Convert it anew."
        )
    n_tensors, n_fields = cursor.numbers("Q", 2)
    fields = {cursor.string(): cursor.value(cursor.number("I")) for _ in range(n_fields)}
    infos = [_tensor_info(cursor) for _ in range(n_tensors)]
    alignment = int(fields.get("general.alignment", 32)) or 32
    start = -(-cursor.position // alignment) * alignment
    tensors = (GgufTensor(name, shape, kind, start + offset) for name, shape, kind, offset in infos)
    return GgufFile(path, fields, tuple(tensors))


def _tensor_info(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.string()
    dims = cursor.numbers("Q", cursor.number("I"))
    kind, offset = cursor.number("I"), cursor.number("Q")
    return name, tuple(reversed(dims)), kind, offset


def _tensor_nbytes(path: Path, tensor: GgufTensor) -> int:
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        n_values, nbytes = GGML_QUANT_SIZES[GGMLQuantizationType(tensor.kind)]
    except (ValueError, KeyError) as error:
        raise ModelError(
            f"`{path}` stores `{tensor.name}` in quantization type {tensor.kind}, which is not known here.",
            "Take another quantization of this model, or update the `gguf` package.",
        ) from error
    return math.prod(tensor.shape) // n_values * nbytes


def _truncated(path: Path, nbytes: int, expected: int | None = None) -> ModelError:
    whole = f" of {expected:,}" if expected else ""
    return ModelError(
        f"`{path}` is not whole: it has {nbytes:,}{whole} bytes.",
        "The download was cut short: fetch it again.",
    )
