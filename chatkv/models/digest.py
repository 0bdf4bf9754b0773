"""A hash by which a model is known again, wherever its files lie and whenever they were copied.

Cheap: small files whole, of large ones the size, the head and evenly spaced samples. Notices a model swapped
under the same name, also a fine-tuned one of the same shapes; is no proof against tampering.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chatkv.errors import ModelError
from chatkv.models.check import weight_files

if TYPE_CHECKING:
    from hashlib import blake2b
    from pathlib import Path

    from chatkv.models.files import ModelFiles

_WHOLE_NBYTES = 64 << 20
_HEAD_NBYTES = 1 << 20
_N_SAMPLES = 256
_SAMPLE_NBYTES = 4096
_KINDS = {".json", ".txt", ".model", ".jinja", ".tiktoken", ".py"}
# These say nothing about which keys and values the model computes.
_OTHER = {"generation_config.json", "README.txt", "LICENSE.txt"}


def file_digest(files: ModelFiles) -> str:
    """32 hex digits over the configuration, tokenizer, chat template, code and weights of `files`.

    Raises `ModelError` if one of them cannot be read.
    """
    import hashlib

    digest = hashlib.blake2b(digest_size=16)
    try:
        for path in _parts(files):
            nbytes = path.stat().st_size
            digest.update(f"{path.name}\0{nbytes}\0".encode())
            _add_content(digest, path, nbytes)
    except OSError as error:
        raise ModelError(f"`{error.filename}` cannot be read: {error.strerror or error}.") from error
    return digest.hexdigest()


def _parts(files: ModelFiles) -> list[Path]:
    if files.gguf:
        return [files.path / files.gguf]
    small = [path for path in files.path.iterdir() if path.suffix in _KINDS and path.name not in _OTHER]
    return sorted(path for path in small if path.is_file()) + weight_files(files.path)


def _add_content(digest: blake2b, path: Path, nbytes: int) -> None:
    with path.open("rb") as file:
        if nbytes <= _WHOLE_NBYTES and path.suffix in _KINDS:
            digest.update(file.read())
            return
        digest.update(file.read(_HEAD_NBYTES))
        for n in range(1, _N_SAMPLES + 1):
            file.seek(max(0, n * nbytes // _N_SAMPLES - _SAMPLE_NBYTES), os.SEEK_SET)
            digest.update(file.read(_SAMPLE_NBYTES))
