"""What a located model is: the one record that the loader needs. Knows nothing of how it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Files that are there, whole, and ready for `from_pretrained(path, gguf_file=gguf)`."""

    name: str
    """For people: `SmolLM2-135M-Instruct`, `Qwen/Qwen3-4B`, a folder's or a file's name."""
    path: Path
    """Folder with the configuration, tokenizer and weights, or with the GGUF file."""
    revision: str = ""
    """Commit of a hub model, version of the starter model; empty where there is none."""
    gguf: str | None = None
    """Name of the GGUF file in `path` that holds everything, or None for a Hugging Face folder."""
