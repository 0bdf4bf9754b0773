"""Files of conversations on disk: read whole and checked, written whole or not at all, for their owner's eyes only.

Knows nothing of what is in them.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from chatkv.errors import ChatkvError, UsageError

_MOST_BYTES = 2 << 30
_MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")


def beginning_of(file: Path) -> bytes:
    """The first 16 bytes. Raises `UsageError` for anything but a regular file that can be read and is not empty."""
    with _read_errors(file):
        state = file.stat()
        if stat.S_ISDIR(state.st_mode):
            raise UsageError(f"{file} is a folder.", "Name the files in it.")
        if not stat.S_ISREG(state.st_mode):
            raise UsageError(f"{file} is no regular file.", "Save what you want to import in a file.")
        if state.st_size == 0:
            raise UsageError(f"{file} is empty.", "Export it again.")
        _require_size(file, state.st_size)
        with file.open("rb") as source:
            return source.read(16)


def text_of(file: Path) -> str:
    """The text of a UTF-8 file, or one with another UTF's byte order mark. Raises `UsageError` with line and byte."""
    with _read_errors(file):
        return decoded(file.read_bytes(), str(file))


def decoded(raw: bytes, name: str) -> str:
    """`raw` as text, exactly. Raises `UsageError` that names the line of the first byte that is none."""
    marks = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
    encoding = next((encoding for mark, encoding in marks if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{name}: line {line}: byte {error.start} is not {encoding.removesuffix('-sig').upper()} text.",
            "Is this an export of conversations? If so, save it as UTF-8.",
        ) from error
    if not text.strip():
        raise UsageError(f"{name} has nothing in it but white space.", "Export it again.")
    return text


def is_zip(beginning: bytes) -> bool:
    """Whether a file that begins so is a zip archive."""
    return beginning.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def zipped_conversations(file: Path) -> list[tuple[str, str]]:
    """Name and text of each `conversations.json` in a zip archive. Raises `UsageError`."""
    broken = (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        EOFError,
        RuntimeError,
        NotImplementedError,
    )
    try:
        with _read_errors(file), zipfile.ZipFile(file) as archive:
            members = sorted(
                (info for info in archive.infolist() if _MEMBER.fullmatch(info.filename)),
                key=lambda info: info.filename,
            )
            _require_size(file, sum(info.file_size for info in members))
            texts = [
                (info.filename, decoded(archive.read(info), f"{file}: {info.filename}")) for info in members
            ]
    except (*broken, ValueError) as error:
        raise UsageError(f"{file} cannot be unpacked: {error}.", "Download the export again.") from error
    if not texts:
        raise UsageError(f"{file} has no conversations.json in it.", "Name the file to import itself.")
    return texts


def write_whole(file: Path, pieces: Iterable[str], *, force: bool) -> None:
    """Write a text file, mode 0600, all of it or nothing. Raises `UsageError` if it is there, unless `force`."""
    target = Path(os.path.realpath(file))
    require_free(target, force=force)
    temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as sink:
            for piece in pieces:
                sink.write(piece.encode())
            sink.flush()
            os.fsync(sink.fileno())
        require_free(target, force=force)
        temporary.replace(target)
        _sync(target.parent)
    except OSError as error:
        raise ChatkvError(
            f"Cannot write {file}: {error.strerror or error}.", "Choose another place, or make room there."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def require_free(file: Path, *, force: bool) -> None:
    """Raise `UsageError` if something is at `file`: a file unless `force`, anything else always."""
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is no regular file; nothing was written.", "Choose another name.")
    if file.exists() and not force:
        raise UsageError(f"{file} is already there; nothing was written.", "--force overwrites it.")


@contextlib.contextmanager
def _read_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"Cannot read {file}: {error.strerror or error}.", "Check the path.") from error
    except MemoryError as error:
        raise UsageError(f"{file} is too large for this machine's memory.", "Split it.") from error


def _require_size(file: Path, n_bytes: int) -> None:
    if n_bytes > _MOST_BYTES:
        raise UsageError(
            f"{file} is {n_bytes / (1 << 30):.1f} GiB; more than {_MOST_BYTES >> 30} GiB is not read at once.",
            "Split it.",
        )


def _sync(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
